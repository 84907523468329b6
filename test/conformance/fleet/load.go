package fleet

import (
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/vendors"
)

// Load is callers who make requests one after the other, until they are stopped.
type Load struct {
	fleet   *Fleet
	client  *caller.Client
	first   int
	next    atomic.Int64
	stop    atomic.Bool
	callers sync.WaitGroup

	mu     sync.Mutex
	whole  int
	failed map[int]caller.Seen
}

// Load starts callers of an edge, once each core has served each key through it: a core looks a key up
// when it is shown first, and refuses it unread where its store does not answer in time, as on a busy
// machine. Numbers of requests begin above first, those of before are the ones just below.
func (f *Fleet) Load(e *Edge, callers, first int) *Load {
	f.tb.Helper()
	l := &Load{fleet: f, client: f.Client(e), first: first, failed: map[int]caller.Seen{}}
	for n := first - len(caller.Text()); n < first; n++ {
		Within(f.tb, WaitLimit, "a core does not serve "+f.Call(vendors.Answer, n).Protocol, func() bool {
			_, _ = l.client.Do(f.tb.Context(), f.Call(vendors.Answer, n)) // it may be refused
			for _, c := range f.Cores {
				if c.Served()[n] == 0 {
					return false
				}
			}
			return true
		})
	}
	l.next.Store(int64(first))
	for range callers {
		l.callers.Go(func() {
			for !l.stop.Load() {
				l.call(int(l.next.Add(1)))
			}
		})
	}
	f.tb.Cleanup(func() { l.Stop() })
	return l
}

func (l *Load) call(n int) {
	seen, err := l.client.Do(l.fleet.tb.Context(), l.fleet.Call(vendors.Answer, n))
	if err != nil {
		seen.Body = err.Error()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if seen.Whole {
		l.whole++
	} else {
		l.failed[n] = seen
	}
}

// WaitLimit is how long tests wait for what must come: far longer than it takes, for a machine on
// which programs and stores get little of the processor.
const WaitLimit = 3 * time.Minute

// Await waits until so many more requests were answered whole, for WaitLimit at most.
func (l *Load) Await(more int) {
	l.fleet.tb.Helper()
	until := l.Whole() + more
	Within(l.fleet.tb, WaitLimit, "answers are missing", func() bool { return l.Whole() >= until })
}

// Whole is how many requests were answered whole.
func (l *Load) Whole() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.whole
}

// Failed are the requests that were not, by number.
func (l *Load) Failed() map[int]caller.Seen {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.failed)
}

// Last is the highest number given out.
func (l *Load) Last() int { return int(l.next.Load()) }

// Stop ends the callers and waits for their last answers.
func (l *Load) Stop() {
	l.stop.Store(true)
	l.callers.Wait()
}

// Within waits until something holds.
func Within(tb testing.TB, limit time.Duration, what string, holds func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			tb.Fatalf("after %v: %s", limit, what)
		}
	}
}
