package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/genway/genway/test/conformance/network"
)

// limits is a primary and a replica of Redis or Valkey on two hosts, and a sentinel on each of
// three.
type limits struct {
	servers   [2]*program
	sentinels [3]*program
	client    string
}

// startLimits starts the five programs.
func startLimits(tb testing.TB, dir, server string, as *syscall.Credential, hosts [3]*network.Host) (*limits, error) {
	l := &limits{client: strings.TrimSuffix(server, "-server") + "-cli"}
	for i, host := range hosts[:2] {
		p := l.program(tb, dir, fmt.Sprintf("limits%d", i+1), as, host, server)
		p.up = "eady to accept connections"
		p.args = []string{"--bind", host.IP, "--port", "6379", "--protected-mode", "no", "--dir", filepath.Dir(p.log), "--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"}
		if i > 0 {
			p.args = append(p.args, "--replicaof", hosts[0].IP+" 6379")
		}
		l.servers[i] = p
	}
	for i, host := range hosts {
		p := l.program(tb, dir, fmt.Sprintf("sentinel%d", i+1), as, host, server)
		file := filepath.Join(filepath.Dir(p.log), "sentinel.conf")
		text := strings.Join([]string{
			"bind " + host.IP, "port 26379", "protected-mode no", "dir " + filepath.Dir(p.log), "sentinel monitor limits " + hosts[0].IP + " 6379 2",
			"sentinel down-after-milliseconds limits 1000", "sentinel failover-timeout limits 5000", "",
		}, "\n")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			return nil, err
		}
		if err := os.Chown(file, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
		p.up, p.args = "Sentinel ID is", []string{file, "--sentinel"}
		l.sentinels[i] = p
	}
	for _, p := range append(l.servers[:], l.sentinels[:]...) {
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	return l, within("the sentinels do not know each other and the replica", l.redundant)
}

func (l *limits) program(tb testing.TB, dir, name string, as *syscall.Credential, host *network.Host, path string) *program {
	tb.Helper()
	home := filepath.Join(dir, name)
	p := &program{tb: tb, name: name, host: host, as: as, path: path, log: filepath.Join(home, "log")}
	if err := os.Mkdir(home, 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.Chown(home, int(as.Uid), int(as.Gid)); err != nil {
		tb.Fatal(err)
	}
	if err := ownLog(p); err != nil {
		tb.Fatal(err)
	}
	return p
}

// url is the one for the configuration.
func (l *limits) url() string {
	var hosts []string
	for _, p := range l.sentinels {
		hosts = append(hosts, p.host.IP+":26379")
	}
	return "redis+sentinel://" + strings.Join(hosts, ",") + "/limits/0"
}

// command returns the words of an answer.
func (l *limits) command(p *program, port string, args ...string) string {
	out, _ := exec.Command(l.client, append([]string{"-h", p.host.IP, "-p", port}, args...)...).Output()
	return string(out)
}

// primary is the server that the sentinels name.
func (l *limits) primary() *program {
	address := l.command(l.sentinels[2], "26379", "SENTINEL", "get-master-addr-by-name", "limits")
	for _, p := range l.servers {
		if strings.HasPrefix(address, p.host.IP+"\n") {
			return p
		}
	}
	return nil
}

// redundant says that there is a primary with a replica that follows it, and that each sentinel
// knows both and the two others.
func (l *limits) redundant() bool {
	primary := l.primary()
	if primary == nil || !strings.Contains(l.command(primary, "6379", "INFO", "replication"), "state=online") {
		return false
	}
	for _, p := range l.sentinels {
		known := l.command(p, "26379", "INFO", "sentinel")
		if !strings.Contains(known, "status=ok,address="+primary.host.IP+":6379,slaves=1,sentinels=3") {
			return false
		}
	}
	return true
}
