package cluster

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/network"
)

// balancer is HAProxy in front of the edges. It passes TCP on, and tells the edges the callers'
// addresses by the PROXY protocol.
type balancer struct {
	*program
	socket string
	port   string
}

// startBalancer starts HAProxy before edges that need not run yet.
func startBalancer(tb testing.TB, dir, path string, host *network.Host, edges map[string]string) (*balancer, error) {
	b := &balancer{socket: filepath.Join(dir, "haproxy.socket"), port: "8080"}
	file := filepath.Join(dir, "haproxy.cfg")
	var servers strings.Builder
	for name, address := range edges {
		fmt.Fprintf(&servers, "  server %s %s\n", name, address)
	}
	text := `global
  maxconn 4000
  stats socket ` + b.socket + ` mode 600 level user
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  # One that ends says so at once, and one that is dead refuses the connection.
  timeout check 10s
  # A connection that an edge does not take goes to another one.
  option redispatch 1
  retries 3
frontend http
  bind ` + host.IP + ":" + b.port + `
  default_backend edges
backend edges
  balance leastconn
  option httpchk GET /readyz
  default-server check check-send-proxy inter 250ms fall 2 rise 1 send-proxy-v2
` + servers.String()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	b.program = &program{tb: tb, name: "haproxy", host: host, path: path, args: []string{"-db", "-f", file}, log: filepath.Join(dir, "haproxy.log"), up: ""}
	if err := b.start(); err != nil {
		return nil, err
	}
	err := within("HAProxy does not answer on its socket", func() bool { return b.stats() != "" || b.ended() })
	if err == nil && b.ended() {
		err = errors.New("it has ended")
	}
	if err != nil {
		return nil, fmt.Errorf("HAProxy does not start: %w:\n%s", err, b.tail())
	}
	return b, nil
}

// stats is what HAProxy says of its servers, as CSV.
func (b *balancer) stats() string {
	conn, err := net.Dial("unix", b.socket)
	if err != nil {
		return ""
	}
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(5*time.Second)) != nil {
		return ""
	}
	if _, err := conn.Write([]byte("show stat\n")); err != nil {
		return ""
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return ""
	}
	return string(text)
}

// takes says that HAProxy gives connections to an edge.
func (b *balancer) takes(edge string) bool {
	for line := range strings.Lines(b.stats()) {
		if strings.HasPrefix(line, "edges,"+edge+",") {
			return strings.Contains(line, ",UP,")
		}
	}
	return false
}
