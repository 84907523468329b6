package ledger

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/conformance/server"
)

// A server that is killed leaves open rows for what was in flight; after a restart they
// are interrupted within 10 s, and nothing that was written is lost.
func TestKilled(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, data string) {
		s, err := server.Launch(server.Options{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		var inFlight sync.WaitGroup
		for n := range 5 {
			inFlight.Go(func() {
				if got, err := do(t.Context(), s, chat(s, "sandbox-slow-10m", n%2 == 0, n)); err == nil && got.status == http.StatusOK && n%2 == 1 {
					t.Error("a killed server answers")
				}
			})
		}
		for n := range 40 {
			if got, err := do(t.Context(), s, chat(s, "sandbox-text", n%2 == 0, n)); err != nil || got.status != http.StatusOK {
				t.Errorf("%+v, %v", got, err)
			}
		}
		within(t, 20*time.Second, data, func(r row) bool { return r.OK == 40 && r.Open == 5 })
		s.Core.Kill()
		inFlight.Wait()
		again := server.Start(t, server.Options{Data: data})
		restarted := time.Now()
		total := within(t, 20*time.Second, data, func(r row) bool { return r.Open == 0 })
		if took := time.Since(restarted); took > 10*time.Second {
			t.Errorf("open rows were closed after %v", took)
		}
		if want := (row{Requests: 45, OK: 40, Interrupted: 5}); total != want {
			t.Errorf("the report is %+v, want %+v", total, want)
		}
		if again.Data != data {
			t.Errorf("the restart took %s", again.Data)
		}
	})
}
