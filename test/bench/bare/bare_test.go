package bare

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/genway/genway/test/bench/load"
	"github.com/genway/genway/test/bench/upstream"
	"github.com/genway/genway/test/bench/workload"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// Both forms carry every main workload whole, and streams of each protocol.
func TestForms(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "core.sock")
	for name, serve := range map[string]func(ctx context.Context, address, upstream string, ended chan<- error) int{
		"one process": func(ctx context.Context, address, upstream string, ended chan<- error) int {
			go func() { ended <- Serve(ctx, address, upstream) }()
			return 1
		},
		"two processes": func(ctx context.Context, address, upstream string, ended chan<- error) int {
			go func() { ended <- ServeCore(ctx, socket, upstream) }()
			go func() { ended <- ServeEdge(ctx, address, socket) }()
			return 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			vendor, own := listen(t), listen(t)
			address := own.Addr().String()
			if err := own.Close(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 3)
			go func() { ended <- upstream.New(upstream.Defaults()).Serve(ctx, vendor) }()
			running := 1 + serve(ctx, address, vendor.Addr().String(), ended)
			client := load.NewClient(address, 2, time.Minute)
			to := workload.Recipient{Address: address, Key: "key"}
			for client.Once(ctx, workload.Chat1K().Job(to)) != nil { // until it listens
				if ctx.Err() != nil {
					t.Fatal(ctx.Err())
				}
			}
			workloads := workload.Main()
			for _, protocol := range workload.Texts() {
				w := workload.ChatStream()
				w.Caller = protocol
				workloads = append(workloads, w)
			}
			for _, w := range workloads {
				w.Upstream = upstream.Defaults()
				if result := client.Do(ctx, w.Job(to), load.Run{Duration: time.Minute, Requests: 4}); result.Requests != 4 {
					t.Errorf("%s of %s: %v", w.Name, w.Caller, result.Errors)
				}
			}
			client.Close()
			cancel()
			for range running {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
