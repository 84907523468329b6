package ledger

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

// PostgreSQL is killed and started again under load, three times. Requests go on being
// served meanwhile, by the keys as they were known, and each has one row in the end.
func TestPostgresRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	postgres := server.StartPostgres(t)
	data := postgres.Database(t)
	s := server.Start(t, server.Options{Data: data})
	var served atomic.Int64
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if got, err := do(t.Context(), s, chat(s, "sandbox-text", n%2 == 0, n)); err != nil || got.status != http.StatusOK {
					t.Errorf("%+v, %v", got, err)
					return
				}
				served.Add(1)
			}
		})
	}
	more := func(when string) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for until, deadline := served.Load()+50, time.Now().Add(time.Minute); served.Load() < until; <-tick.C {
			if time.Now().After(deadline) || t.Failed() {
				t.Fatalf("%s: only %d requests are served", when, served.Load())
			}
		}
	}
	for range 3 {
		more("up")
		postgres.Kill(t)
		more("down")
		postgres.Start(t)
	}
	more("up again")
	close(stop)
	callers.Wait()
	want := row{Requests: int(served.Load()), OK: int(served.Load())}
	if total := within(t, 3*time.Minute, data, func(r row) bool { return r.Open == 0 && r.OK >= want.OK }); (total.Requests != want.Requests) || total.OK != want.OK {
		t.Errorf("%d were served; the report is %+v", want.OK, total)
	}
}
