package ledger

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/conformance/server"
)

// mixed is the n-th request of a mix, with the outcome its row should have; empty for
// one that is never accepted.
func mixed(s *server.Server, n int) (c call, outcome string) {
	switch n % 10 {
	case 0:
		return call{path: "/v1/messages", key: s.Keys["messages"],
			body: fmt.Sprintf(`{"model":"sandbox-text-m","max_tokens":50,"messages":[{"role":"user","content":"Number %d."}]}`, n)}, "failed" // no such model
	case 1:
		c := chat(s, "sandbox-drip-200ms", true, n)
		c.leave = true
		return c, "cancelled"
	case 2:
		return chat(s, "sandbox-error", false, n), "failed"
	case 3:
		return chat(s, "sandbox-cut", true, n), "failed"
	case 4:
		return call{path: "/v1beta/models/sandbox-empty:generateContent", key: s.Keys["generatecontent"],
			body: `{"contents":[{"parts":[{"text":"Say hello."}]}]}`}, "ok"
	case 5:
		return call{path: "/v1/chat/completions", key: s.Keys["chat"], body: `{"model":"sandbox-text","messages":`}, ""
	case 6:
		c := chat(s, "sandbox-text", false, n)
		c.key = s.Keys["messages"]
		return c, ""
	case 7:
		return chat(s, "sandbox-filter", true, n), "ok"
	default:
		return chat(s, "sandbox-text", false, n), "ok"
	}
}

// Of 2,000 mixed requests each that was accepted has one row with its outcome, the rows'
// tokens are those of the answers, and none is left open.
func TestAcceptedRequestsAreRows(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, data string) {
		s := server.Start(t, server.Options{Data: data})
		const requests, callers = 2000, 16
		var mu sync.Mutex
		want, tokens := map[string]int{}, row{}
		var next atomic.Int64
		var wait sync.WaitGroup
		for range callers {
			wait.Go(func() {
				for n := next.Add(1); n <= requests; n = next.Add(1) {
					c, outcome := mixed(s, int(n))
					got, err := do(t.Context(), s, c)
					if err != nil && outcome != "failed" { // a cut stream breaks the body off
						t.Errorf("request %d: %v", n, err)
					}
					mu.Lock()
					want[outcome]++
					if outcome == "ok" && n%10 > 7 {
						tokens.Input += got.input
						tokens.Output += got.output
					}
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		accepted := requests - want[""]
		total := within(t, 20*time.Second, s.Data, func(r row) bool { return r.Open == 0 && r.Requests >= accepted })
		if total.Requests != accepted || total.OK != want["ok"] || total.Failed != want["failed"] || total.Cancelled != want["cancelled"] || total.Interrupted != 0 {
			t.Errorf("%d were accepted, %v; the report is %+v", accepted, want, total)
		}
		byModel, _ := usage(t, s.Data)
		if got := byModel["sandbox-text"]; got.Input != tokens.Input || got.Output != tokens.Output || tokens.Output == 0 {
			t.Errorf("the answers' tokens are %d and %d, the report's %d and %d", tokens.Input, tokens.Output, got.Input, got.Output)
		}
	})
}

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

// With --ledger-sync each, whatever was answered has its row, whenever the server is
// killed; none has two.
func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, data string) {
		var sent, answered atomic.Int64
		for round := range 5 {
			s, err := server.Launch(server.Options{Data: data, Args: []string{"--ledger-sync", "each"}})
			if err != nil {
				t.Fatal(err)
			}
			enough, until := make(chan struct{}), answered.Load()+20+rand.Int64N(60)
			var once sync.Once
			var callers sync.WaitGroup
			for range 8 {
				callers.Go(func() {
					for n := 0; ; n++ {
						sent.Add(1)
						got, err := do(t.Context(), s, chat(s, "sandbox-text", false, n))
						if err != nil {
							once.Do(func() { close(enough) })
							return // killed
						}
						if got.status == http.StatusOK && answered.Add(1) >= until {
							once.Do(func() { close(enough) })
						}
					}
				})
			}
			<-enough
			s.Core.Kill()
			callers.Wait()
			if answered.Load() < until {
				t.Fatalf("round %d: the server ended by itself\n%s", round, s.Core.Log())
			}
		}
		server.Start(t, server.Options{Data: data})
		total := within(t, 20*time.Second, data, func(r row) bool { return r.Open == 0 })
		if int64(total.OK) < answered.Load() || int64(total.Requests) > sent.Load() || total.Requests != total.OK+total.Interrupted {
			t.Errorf("%d were sent and %d answered; the report is %+v", sent.Load(), answered.Load(), total)
		}
	})
}
