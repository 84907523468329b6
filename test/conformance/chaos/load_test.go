package chaos

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

const callers = 32

// leavers are the callers who are going to leave, by the number of their request.
type leavers struct{ cancels sync.Map }

// context returns the one of a request, which ends when the vendors say so.
func (l *leavers) context(ctx context.Context, n int) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	l.cancels.Store(n, cancel)
	return ctx, func() {
		l.cancels.Delete(n)
		cancel()
	}
}

func (l *leavers) leave(n int) {
	if cancel, ok := l.cancels.Load(n); ok {
		cancel.(context.CancelFunc)()
	}
}

// Of a mix of requests, of which one in ten meets a fault of the upstream and one in
// twenty is left by its caller, each that was accepted has one row, with the tokens that
// the upstream counted; none is open in the end, and no limit holds anything back.
func TestLoad(t *testing.T) {
	requests := figure(t, "GENWAY_CHAOS_REQUESTS", 2000)
	onEach(t, func(t *testing.T, data string) {
		v, leaving := vendors.Start(t), &leavers{}
		v.Leave = leaving.leave
		s := server.Start(t, server.Options{Data: data, Args: []string{"--config", configure(t, v, "")}})
		keys := limitedKeys(t, data)
		c := client(t, s)
		var known books
		var next atomic.Int64
		var wait sync.WaitGroup
		start := time.Now()
		for range callers {
			wait.Go(func() {
				for n := int(next.Add(1)); n <= requests && !t.Failed(); n = int(next.Add(1)) {
					known.note(perform(t, c, leaving, mixed(keys, n)))
				}
			})
		}
		wait.Wait()
		took := time.Since(start)
		db := rows.Open(t, data)
		still := &rest{t: t, data: data, c: c, v: v, keys: keys, books: &known, next: requests + 1}
		still.check(db)
		sum := known.check(t, still.settled(db), v)
		proved(t, data)
		t.Logf("%d requests in %v: %+v", requests, took.Round(time.Millisecond), sum)
		if sum.Outcomes["ok"] < requests*6/10 || sum.Outcomes["failed"] < requests/20 || sum.Outcomes["cancelled"] < requests/50 {
			t.Errorf("that was no mix: %+v", sum)
		}
		if stayed := v.Stayed(); len(stayed) > 0 {
			t.Errorf("the upstream was not left by the gateway: %v", stayed)
		}
	})
}

// perform makes a request and returns what came of it.
func perform(t *testing.T, c *caller.Client, leaving *leavers, r request) outcome {
	t.Helper()
	ctx, done := leaving.context(t.Context(), r.n)
	defer done()
	seen, err := c.Do(ctx, r.call)
	switch {
	case err != nil && !r.leaves():
		t.Errorf("request %d: %v", r.n, err)
	case r.refused && seen.Status == 200:
		t.Errorf("request %d, which is wrong, was accepted: %s", r.n, seen.Body)
	case r.do == vendors.Answer && !r.refused && !seen.Whole:
		t.Errorf("request %d, %+v, got %d: %s", r.n, r.call, seen.Status, seen.Body)
	}
	return r.seen(seen)
}
