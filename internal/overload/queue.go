package overload

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// queue is the requests that wait to be admitted. A short one evens out bursts: it is served in the
// order of coming. One in which requests still wait for too long is standing: it delays all requests and
// helps none. Then the newest is served first, since its caller is the most likely to be still connected,
// and each may wait for a shorter time (the controlled delay and adaptive LIFO of Facebook's "Fail at
// Scale", after RFC 8289). That does not hold for the last few, nor for as many as are served in the time that each
// may wait: callers who ask again as soon as they are answered would keep the others waiting, and the queue standing,
// although all can be served in time. Batch requests are served when no other waits.
//
// Its mutex is held for all methods.
type queue struct {
	mu sync.Mutex
	// delay is the wait that is too long: a queue with such waits becomes a standing one.
	delay   time.Duration
	waiting [priorities]list
	size    int
	// few is how many requests wait in the order of coming and for patience even in a standing queue.
	few int
	// served are how many requests the queue has admitted since counted, and pace how many it admitted in
	// the time hurried before that.
	served, pace int
	counted      time.Time
	// held are the refusals whose answers wait; see Gate.Hold.
	held list
	// window is how many requests, counted from the start, are admitted before others have to wait.
	window int64
	// late is since when requests have waited for longer than the delay; zero while they do not.
	late time.Time
	// standing is until when the queue counts as standing.
	standing time.Time
}

// waiter is a request in a queue.
type waiter struct {
	since        time.Time
	turn         chan struct{} // closed when it is admitted
	older, newer *waiter
	gone         bool // it is not in the queue any more
}

// list has the waiting requests of one priority.
type list struct{ oldest, newest *waiter }

const (
	// patience is how long a request may wait in a queue that is not standing, such as one of a
	// thousand callers who connect at once.
	patience = 2 * time.Second
	// hurried is the same for a standing one in which more than a few wait. The newest is served first, so
	// a request waits for that long only while fewer come than can be served.
	hurried = 400 * time.Millisecond
	// interval is for how long requests must have waited for longer than the delay before the queue is
	// standing.
	interval = 50 * time.Millisecond
	// standsFor is for how long the queue is standing after a request has waited in vain.
	standsFor = 500 * time.Millisecond
	// fewPerProcessor are few requests that wait, for each processor.
	fewPerProcessor = 16
	// maxWaiting bounds the queue: each request in it has a goroutine and a connection.
	maxWaiting = 8192
)

func (q *queue) isStanding(now time.Time) bool { return now.Before(q.standing) }

// join puts a request at the end, and says for how long it may wait; nil if there is no place.
func (q *queue) join(now time.Time, p Priority) (*waiter, time.Duration) {
	if q.size >= maxWaiting {
		q.standing = now.Add(standsFor)
		return nil, 0
	}
	may := patience
	if q.isStanding(now) && q.size >= q.few {
		may = hurried
	}
	w := &waiter{since: now, turn: make(chan struct{})}
	q.waiting[p].push(w)
	q.size++
	return w, may
}

// remove takes a request out; false if it has been admitted.
func (q *queue) remove(w *waiter, p Priority) bool {
	if w.gone {
		return false
	}
	q.waiting[p].remove(w)
	q.size--
	return true
}

func (l *list) push(w *waiter) {
	if w.older = l.newest; w.older != nil {
		w.older.newer = w
	} else {
		l.oldest = w
	}
	l.newest = w
}

func (l *list) remove(w *waiter) {
	if w.newer != nil {
		w.newer.older = w.older
	} else {
		l.newest = w.older
	}
	if w.older != nil {
		w.older.newer = w.newer
	} else {
		l.oldest = w.newer
	}
	w.older, w.newer, w.gone = nil, nil, true
}

// next admits the request whose turn it is.
func (q *queue) next(now time.Time) {
	for p := range priorities {
		l := &q.waiting[p]
		if l.oldest == nil {
			continue
		}
		q.observe(now, now.Sub(l.oldest.since))
		w := l.oldest
		if q.isStanding(now) && q.size > max(q.few, q.pace) {
			w = l.newest
		}
		q.count(now)
		q.remove(w, p)
		close(w.turn)
		return
	}
}

// count counts a request that is admitted.
func (q *queue) count(now time.Time) {
	q.served++
	if since := now.Sub(q.counted); since >= hurried {
		q.pace = int(float64(q.served) * float64(hurried) / float64(since))
		q.served, q.counted = 0, now
	}
}

// observe notes how long the oldest request has waited.
func (q *queue) observe(now time.Time, waited time.Duration) {
	switch {
	case waited < q.delay:
		q.late = time.Time{}
	case q.late.IsZero():
		q.late = now
	case now.Sub(q.late) >= interval:
		q.standing = now.Add(standsFor)
	}
}

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
			select {
			case <-g.asked: // meanwhile, by a request that serve finds
			default:
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

// probe reads the signals of the process. It is not safe for concurrent use.
type probe interface {
	// memory is what the process holds for good, in bytes: the heap that the last
	// collection left, and stacks.
	memory() int64
	// collections is how many collections there were, and collect makes one and waits for it.
	// collect alone may be called beside the others.
	collections() uint64
	collect()
}

// runtimeProbe reads runtime/metrics.
type runtimeProbe struct {
	held   [2]metrics.Sample
	cycles [1]metrics.Sample
}

func newRuntimeProbe() *runtimeProbe {
	return &runtimeProbe{
		cycles: [1]metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}},
		held:   [2]metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}},
	}
}

func (p *runtimeProbe) memory() int64 {
	metrics.Read(p.held[:])
	return int64(p.held[0].Value.Uint64() + p.held[1].Value.Uint64())
}

func (p *runtimeProbe) collections() uint64 {
	metrics.Read(p.cycles[:])
	return p.cycles[0].Value.Uint64()
}

func (*runtimeProbe) collect() { runtime.GC() }
