package cores

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/genway/genway/internal/target"
)

// No proxy of the environment is between an edge and its cores: it would see the edge's secret, and every body. The
// environment is read once in a process, so that the edge is in one of its own.
func TestNoProxyOfTheEnvironment(t *testing.T) {
	if os.Getenv("HTTPS_PROXY") == "http://"+os.Getenv("GENWAY_TEST_PROXY") {
		callOfNoHost(t)
		return
	}
	proxy, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := proxy.Accept()
			if err != nil {
				return
			}
			conn.Close()
			asked <- struct{}{}
		}
	}()
	edge := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoProxyOfTheEnvironment$")
	edge.Env = append(os.Environ(), "HTTPS_PROXY=http://"+proxy.Addr().String(), "GENWAY_TEST_PROXY="+proxy.Addr().String(), "NO_PROXY=")
	if out, err := edge.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	proxy.Close()
	<-ended
	if len(asked) > 0 {
		t.Errorf("the proxy was asked %d times", len(asked))
	}
}

// callOfNoHost calls cores whose names no DNS server resolves: a single target, several, and dns:///.
func callOfNoHost(t *testing.T) {
	for _, texts := range [][]string{{"core.invalid:9090"}, {"core.invalid:9090", "other.invalid:9090"}, {"dns:///core.invalid:9090"}} {
		targets, err := target.ParseAll(texts)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := Dial(targets, slog.New(slog.DiscardHandler), insecure.NewCredentials())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(false))
		if status.Code(err) != codes.Unavailable || strings.Contains(err.Error(), "proxy") {
			t.Errorf("%s: %v", texts, err)
		}
		cancel()
		conn.Close()
	}
}
