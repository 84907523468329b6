package ledger

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

// launch starts a server on data that another may be starting on.
func launch(t *testing.T, data string) *server.Process {
	t.Helper()
	process, err := server.StartProcess("genway", append([]string{"serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--log-format", "json"}, server.At(data)...)...)
	if err != nil {
		t.Fatal(err)
	}
	return process
}

// up waits for it to be up; the test's end stops it.
func up(t *testing.T, process *server.Process) *server.Server {
	t.Helper()
	record, err := process.Await("genway is up")
	if err != nil {
		t.Fatal(err)
	}
	s := &server.Server{HTTP: record["http"], GRPC: record["grpc"], Core: process, Keys: map[string]string{}}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Two servers that start at once on a store that has never been one mint its first keys
// once. A key made by either, or by the administrator's command, opens both at once, and
// once revoked neither from 2 s on.
func TestCoresShareKeys(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, data string) {
		first, second := launch(t, data), launch(t, data)
		cores := []*server.Server{up(t, first), up(t, second)}
		list, err := server.Output("genway", append([]string{"keys", "list"}, server.At(data)...)...)
		if got := strings.Count(list, "default-"); err != nil || got != len(server.Groups()) {
			t.Errorf("%d first keys, %v:\n%s", got, err, list)
		}
		status := func(s *server.Server, key string) int {
			t.Helper()
			c := chat(s, "sandbox-text", false, 1)
			c.key = key
			got, err := do(t.Context(), s, c)
			if err != nil {
				t.Fatal(err)
			}
			return got.status
		}
		for round := range 3 {
			key, err := server.CreateKey(data, "chat", "late")
			if err != nil {
				t.Fatal(err)
			}
			for n, s := range cores {
				if got := status(s, key); got != http.StatusOK {
					t.Errorf("round %d: the new key gets %d at core %d", round, got, n)
				}
			}
			if _, err := server.Output("genway", append([]string{"keys", "revoke", "late"}, server.At(data)...)...); err != nil {
				t.Fatal(err)
			}
			revoked := time.Now()
			for n, s := range cores {
				for status(s, key) != http.StatusUnauthorized {
					if time.Since(revoked) > time.Minute {
						t.Fatalf("round %d: core %d takes the key a minute after it was revoked", round, n)
					}
				}
				t.Logf("round %d: core %d refuses the key %v after it was revoked", round, n, time.Since(revoked).Round(time.Millisecond))
			}
		}
	})
}

// What two servers account for is one ledger. When one is killed, the other closes what
// it left open, and nothing else.
func TestCoresShareLedger(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, data string) {
		one, err := server.Launch(server.Options{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		other := server.Start(t, server.Options{Data: data})
		var inFlight, quick sync.WaitGroup
		for n := range 6 {
			s := []*server.Server{one, other}[n%2]
			inFlight.Go(func() {
				c := chat(s, "sandbox-drip-200ms", true, n)
				if n%2 == 0 {
					c = chat(s, "sandbox-slow-10m", false, n) // until it is killed
				}
				if got, err := do(t.Context(), s, c); (err == nil && got.status == http.StatusOK) != (n%2 == 1) {
					t.Errorf("request %d: %+v, %v", n, got, err)
				}
			})
		}
		for n := range 100 {
			s := []*server.Server{one, other}[n%2]
			quick.Go(func() {
				if got, err := do(t.Context(), s, chat(s, "sandbox-text", n%3 == 0, n)); err != nil || got.status != http.StatusOK {
					t.Errorf("request %d: %+v, %v", n, got, err)
				}
			})
		}
		quick.Wait()
		within(t, 3*time.Minute, data, func(r row) bool { return r.Requests == 106 && r.OK >= 100 && r.Open >= 3 })
		one.Core.Kill()
		killed := time.Now()
		inFlight.Wait()
		total := within(t, time.Minute, data, func(r row) bool { return r.Open == 0 })
		t.Logf("open rows were closed %v after the kill", time.Since(killed).Round(time.Millisecond))
		if want := (row{Requests: 106, OK: 103, Interrupted: 3}); total != want {
			t.Errorf("the report is %+v, want %+v", total, want)
		}
	})
}
