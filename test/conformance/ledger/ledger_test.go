package ledger

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

// A server that is killed the moment it has answered loses no answered request, nor what
// it used: they have their rows after a restart. What was in flight is interrupted within
// 10 s.
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
		within(t, 3*time.Minute, data, func(r row) bool { return r.Open == 5 })
		used := 0
		for n := range 40 {
			got, err := do(t.Context(), s, chat(s, "sandbox-text", n%2 == 0, n))
			if err != nil || got.status != http.StatusOK {
				t.Errorf("%+v, %v", got, err)
			}
			used += got.output
		}
		s.Core.Kill()
		inFlight.Wait()
		again := server.Start(t, server.Options{Data: data, Keys: s.Keys})
		restarted := time.Now()
		total := within(t, time.Minute, data, func(r row) bool { return r.Open == 0 })
		t.Logf("open rows were closed %v after the restart", time.Since(restarted).Round(time.Millisecond))
		if want := (row{Requests: 45, OK: 40, Interrupted: 5}); total != want {
			t.Errorf("the report is %+v, want %+v", total, want)
		}
		if byModel, _ := usage(t, data); byModel["sandbox-text"].Output < used || used == 0 {
			t.Errorf("the answers had %d tokens and more, the report has %+v", used, byModel["sandbox-text"])
		}
		if again.Data != data {
			t.Errorf("the restart took %s", again.Data)
		}
	})
}
