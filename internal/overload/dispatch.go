package overload

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"
)

const (
	// calmWindow is how many requests are admitted before the dispatcher looks whether the process has
	// room, and standingWindow how many are while the queue is standing.
	calmWindow, standingWindow = 64, 4
	// minPerProcessor is how many requests a second are admitted for each processor even when there
	// is no room: a process that has few requests and is busy all the same has other work, which is not
	// shortened by refusing them.
	minPerProcessor = 50
)

// attend begins to admit requests by what the process has room for. The function that it returns ends that:
// all that wait are admitted, and all that come.
func (g *Gate) attend(ctx context.Context) (end func()) {
	if g.config.Delay < 0 {
		return func() {}
	}
	r := g.config.rounds
	if r == nil {
		var err error
		if r, err = newRounds(); err != nil {
			g.config.Logger.ErrorContext(ctx, "requests are not refused when the processor has too much to do: no pipe can be made", "error", err)
			return func() {}
		}
	}
	g.ahead.Store(g.admitted.Load())
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { g.dispatch(ctx, r) })
	return func() {
		stop()
		r.close()
		running.Wait()
		q := &g.queue
		q.mu.Lock()
		defer q.mu.Unlock()
		q.window = math.MaxInt64
		g.ahead.Store(math.MaxInt64)
		for q.size > 0 {
			q.next(time.Now())
		}
	}
}

// wait has a request wait in the queue until it is admitted, and reports whether it was.
func (g *Gate) wait(ctx context.Context, p Priority) bool {
	q := &g.queue
	now := time.Now()
	q.mu.Lock()
	if q.size == 0 && g.admitted.Load() < q.window {
		g.admitted.Add(1)
		q.mu.Unlock()
		g.look()
		return true
	}
	w, may := q.join(now, p)
	q.mu.Unlock()
	if w == nil {
		return false
	}
	g.look()
	timer := time.NewTimer(may)
	defer timer.Stop()
	expired := false
	select {
	case <-w.turn:
		return true
	case <-ctx.Done():
	case <-timer.C:
		expired = true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.remove(w, p) { // its turn came at the last moment
		return true
	}
	if expired {
		q.standing = time.Now().Add(standsFor)
	}
	return false
}

// look has the dispatcher look whether the process has room.
func (g *Gate) look() {
	select {
	case g.asked <- struct{}{}:
	default:
	}
}

// dispatch admits the requests that wait, one each time that the process has room, until ctx ends.
func (g *Gate) dispatch(ctx context.Context, r rounds) {
	last := time.Time{} // when a request was admitted
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.asked:
		}
		for again := true; again; {
			took, ok := r.round()
			if !ok {
				return
			}
			last, again = g.serve(time.Now(), last, took)
		}
	}
}

// serve admits a request after a round. If none waits it opens a window, and has a held refusal
// answered: a processor without work has time for it, and the caller may ask again. last is when it admitted
// a request; again is false when there is nothing more to do.
func (g *Gate) serve(now, last time.Time, took time.Duration) (_ time.Time, again bool) {
	q := &g.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	room, window := took < g.config.Delay, int64(0)
	least := time.Second / minPerProcessor / time.Duration(runtime.GOMAXPROCS(0))
	switch w := q.held.oldest; {
	case q.size > 0 && (room || now.Sub(last) >= least):
		last = now
		q.next(now)
		g.admitted.Add(1)
	case q.size == 0 && room && w != nil:
		q.held.remove(w)
		close(w.turn)
	}
	if q.size == 0 && room {
		if window = standingWindow; !q.isStanding(now) {
			window, q.late = calmWindow, time.Time{}
		}
	}
	q.window = g.admitted.Load() + window
	g.ahead.Store(q.window - window/2)
	return last, q.size > 0 || room && q.held.oldest != nil
}
