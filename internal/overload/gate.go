// Package overload is the admission gate of an edge and of a core: it decides which requests
// an overloaded process refuses, and measures the signals of an overload.
//
// Requests take an unknown time, so neither their number nor their duration shows an overload.
// The gate uses what every request depends on: whether a processor has nothing to run, by Go's scheduler, and
// how much memory the process has left. A request is admitted when there is room for it. The gate keeps no state
// for those that it has admitted; admitting one that need not wait costs an atomic addition and a comparison.
//
// It must not import the gateway, the core or net/http.
package overload

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec/fault"
)

// Config configures a Gate. The zero value has the defaults.
type Config struct {
	// Delay is the wait of requests for room that is too long: when they wait for longer, and not only
	// for a moment, some are refused. Default 20 ms; negative turns the signal off.
	Delay time.Duration
	// Memory is how much the process may use, in bytes; 0 is what MemoryLimit finds, and
	// negative turns the signal off.
	Memory int64
	// OnRefused, if set, is called once a second with the number of requests that were
	// refused for a signal.
	OnRefused func(signal Signal, p Priority, n int64)
	// Logger gets one line a second while requests are refused. Default: slog.Default().
	Logger *slog.Logger

	probe  probe  // of tests
	rounds rounds // of tests
}

// Signal is the reason for which a request is refused.
type Signal uint8

const (
	// Processor is a process that is busy with the requests that it has admitted.
	Processor Signal = iota
	// Memory is the memory that the process uses.
	Memory
	// Bodies are the bytes of request bodies that an edge holds.
	Bodies
	// Core is a core that has refused requests of this edge.
	Core
	// Upstream is the bound of an upstream's concurrency.
	Upstream
	signals
)

// String returns the signal's name in logs and metrics.
func (s Signal) String() string {
	return [...]string{"processor", "memory", "bodies", "core", "upstream"}[s]
}

// Gate admits requests, or refuses them while the process is overloaded. It is safe for
// concurrent use; a nil Gate admits all. Run must be running for it to see an overload.
type Gate struct {
	config Config
	start  time.Time

	// pressed has the bits of pressure.
	pressed  atomic.Uint32
	admitted atomic.Int64
	refused  [signals][priorities]atomic.Int64
	// ahead is how many requests, counted from the start, are admitted without a look at the queue.
	ahead atomic.Int64
	queue queue
	asked chan struct{} // has the dispatcher look whether the process has room
	// answered is when the next refusal is due to be answered, in ns since start, and held
	// how many wait for their answer.
	answered, held atomic.Int64
	answerEvery    int64 // ns between two refusals that are answered at once
}

// The bits of pressure.
const (
	noBatch   uint32 = 1 << iota // memory is short
	noneAtAll                    // there is next to no memory left
)

// New makes a gate.
func New(config Config) *Gate {
	if config.Delay == 0 {
		config.Delay = 20 * time.Millisecond
	}
	if config.Memory == 0 {
		config.Memory, _ = MemoryLimit()
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.probe == nil {
		config.probe = newRuntimeProbe()
	}
	every := int64(time.Second) / refusalsPerProcessor / int64(runtime.GOMAXPROCS(0))
	g := &Gate{config: config, start: time.Now(), answerEvery: every, asked: make(chan struct{}, 1)}
	g.ahead.Store(math.MaxInt64)
	g.queue.delay, g.queue.few = config.Delay, fewPerProcessor*runtime.GOMAXPROCS(0)
	return g
}

// Admit returns nil, or the refusal of a request of that priority: a *fault.Error that all
// callers share and must not change. While the process has no room it waits, for 2 s at most; it
// refuses a request whose ctx ends.
func (g *Gate) Admit(ctx context.Context, p Priority) error {
	if g == nil {
		return nil
	}
	if pressed := g.pressed.Load(); pressed&noneAtAll != 0 || pressed != 0 && p == Batch {
		return g.Refuse(Memory, p)
	}
	if g.admitted.Add(1) <= g.ahead.Load() {
		return nil
	}
	g.admitted.Add(-1)
	if !g.wait(ctx, p) {
		return g.Refuse(Processor, p)
	}
	return nil
}

// Refuse counts a request that is refused for a signal, and returns the refusal.
func (g *Gate) Refuse(signal Signal, p Priority) error {
	if g == nil {
		return refusals[0]
	}
	return refusals[g.refused[signal][p].Add(1)%int64(len(refusals))]
}

// Pressed reports whether requests are refused at the moment.
func (g *Gate) Pressed() bool {
	if g == nil {
		return false
	}
	g.queue.mu.Lock()
	defer g.queue.mu.Unlock()
	return g.pressed.Load() != 0 || g.queue.isStanding(time.Now())
}

// refusals are ready, with waits that differ so that callers do not all come back at once.
var refusals = func() (all [8]*fault.Error) {
	for i := range all {
		all[i] = fault.New(fault.Overloaded, fault.ReasonOverloaded, "the server has more requests than it can serve; try again")
		all[i].RetryAfter = time.Second + time.Duration(i)*125*time.Millisecond
	}
	return all
}()

// Priority says which requests are refused first.
type Priority uint8

const (
	// Interactive requests have somebody who waits for them. It is the default.
	Interactive Priority = iota
	// Batch requests can wait. They are refused before all others.
	Batch
	priorities
)

// String returns the word of the setting.
func (p Priority) String() string {
	if p == Batch {
		return "batch"
	}
	return "interactive"
}

// How often the signals are read: often while requests come, seldom while none do.
const (
	busyTick = 20 * time.Millisecond
	idleTick = 100 * time.Millisecond
)

// Run reads the signals until ctx ends. There is one Run of a Gate.
func (g *Gate) Run(ctx context.Context) {
	if g == nil {
		return
	}
	c := controller{gate: g, reported: time.Now()}
	defer g.attend(ctx)()
	timer := time.NewTimer(busyTick)
	defer timer.Stop()
	defer func() {
		c.report(ctx)
		g.pressed.Store(0) // otherwise the overload would never end
		c.collector.running.Wait()
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if now := time.Now(); c.step(now) {
			timer.Reset(busyTick)
		} else {
			timer.Reset(idleTick)
		}
		if time.Since(c.reported) >= time.Second {
			c.report(ctx)
			c.reported = time.Now()
		}
	}
}

// controller turns the signals into what the gate does.
type controller struct {
	gate *Gate
	// Of the step before.
	admitted, refused int64
	collector         collector

	reported time.Time
	shown    [signals][priorities]int64
}

// step reads the signals; it reports whether requests come.
func (c *controller) step(now time.Time) bool {
	g := c.gate
	if g.config.Memory > 0 {
		c.weigh(now, g.config.probe.memory())
	}
	admitted, refused := g.admitted.Load(), g.refusals()
	asked := admitted != c.admitted || refused != c.refused
	c.admitted, c.refused = admitted, refused
	return asked
}

// refusals are counted by this process.
func (g *Gate) refusals() (n int64) {
	for p := range priorities {
		n += g.refused[Processor][p].Load() + g.refused[Memory][p].Load()
	}
	return n
}

// The parts of the memory from which on batch requests and all requests are refused.
const (
	memoryForBatch = 0.80
	memoryForAll   = 0.92
)

func (c *controller) weigh(now time.Time, used int64) {
	g, most := c.gate, float64(c.gate.config.Memory)
	set := func(bit uint32, on bool) {
		if on {
			g.pressed.Or(bit)
		} else {
			g.pressed.And(^bit)
		}
	}
	short := float64(used) > most*memoryForBatch
	set(noBatch, short)
	set(noneAtAll, float64(used) > most*memoryForAll)
	if short {
		c.collector.whileShort(g.config.probe, now)
	}
}

// report logs the refusals since the last time, and calls OnRefused with them.
func (c *controller) report(ctx context.Context) {
	g := c.gate
	var attrs []slog.Attr
	total := int64(0)
	for signal := range signals {
		for p := range priorities {
			n := g.refused[signal][p].Load()
			since := n - c.shown[signal][p]
			if since == 0 {
				continue
			}
			c.shown[signal][p] = n
			total += since
			attrs = append(attrs, slog.Int64(signal.String()+"_"+p.String(), since))
			if g.config.OnRefused != nil {
				g.config.OnRefused(signal, p, since)
			}
		}
	}
	if total > 0 {
		g.config.Logger.LogAttrs(ctx, slog.LevelWarn, "requests are refused: there are more than can be served", append([]slog.Attr{slog.Int64("refused", total)}, attrs...)...)
	}
}

const (
	// refusalsPerProcessor is how many refusals a second are answered at once, for each
	// processor that the process may use. A refusal costs some 30 µs of it, most of that in
	// the kernel and in the server of the protocol.
	refusalsPerProcessor = 2000
	// holdBurst is how many refusals may come at once, as the time that they are good for.
	holdBurst = 100 * time.Millisecond
	// longestHold bounds the wait for the answer, and maxHeld how many wait at once: each
	// costs some 10 KiB beside its connection.
	longestHold = 500 * time.Millisecond
	maxHeld     = 8192
)

// Hold waits before a refusal is answered while there are so many that to answer all at
// once would take the processor from the requests that were admitted. A caller who gets a
// refusal sends the next request, so the wait, and the number of callers, bound what
// refusals cost. Up to a rate Hold returns at once. It returns early when ctx ends, when the processor has
// nothing else to do, and longestHold after the request came, which is since; it does not wait while
// memory is short.
func (g *Gate) Hold(ctx context.Context, since time.Time) {
	if g == nil {
		return
	}
	now := time.Now()
	wait := min(g.holdFor(int64(now.Sub(g.start))), longestHold-now.Sub(since))
	if wait <= 0 || g.pressed.Load()&(noBatch|noneAtAll) != 0 {
		return
	}
	defer g.held.Add(-1)
	if g.held.Add(1) > maxHeld {
		return
	}
	q, w := &g.queue, &waiter{since: now, turn: make(chan struct{})}
	q.mu.Lock()
	q.held.push(w)
	q.mu.Unlock()
	g.look()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.turn:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !w.gone {
		q.held.remove(w)
	}
}

// holdFor counts a refusal by GCRA, and returns how long its answer is to wait. Those that
// would wait for longer than the longest time are not counted: they come at the rate of their
// callers. They wait for half of it and more, each for another time: those that came at once
// would otherwise come again at once.
func (g *Gate) holdFor(now int64) time.Duration {
	for {
		due := g.answered.Load()
		wait := time.Duration(due-now) - holdBurst
		if wait > longestHold {
			return longestHold - rand.N(longestHold/2) //nolint:gosec // a wait, no secret
		}
		if g.answered.CompareAndSwap(due, max(due, now)+g.answerEvery) {
			return wait
		}
	}
}

// MemoryLimit returns how much memory this process may use, in bytes: GOMEMLIMIT, else nine
// tenths of what its cgroup may use, which fromGroup reports; 0 where nothing bounds it.
func MemoryLimit() (bytes int64, fromGroup bool) {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit, false
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	limit := groupLimit("/sys/fs/cgroup", string(own))
	return limit / 10 * 9, limit > 0
}

// groupLimit returns the least memory limit of a cgroup and those above it; 0 for none. own
// is /proc/self/cgroup, as of cgroups(7).
func groupLimit(root, own string) (least int64) {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		dir, file := root, "memory.max" // version 2
		switch {
		case parts[0] == "0" && parts[1] == "":
		case parts[1] == "memory":
			dir, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		default:
			continue
		}
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) {
			text, err := os.ReadFile(filepath.Join(dir, at, file)) //nolint:gosec // of the system
			// Version 1 spells no limit as a number of pages near the largest.
			if n, wrong := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && wrong == nil && n > 0 && n < math.MaxInt64/2 && (least == 0 || n < least) {
				least = n
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

// collector makes garbage collections while memory is short. What the process holds is known from the last
// collection, and a process that refuses requests allocates too little for the next: the runtime would
// make it after two minutes, however much is free by then.
type collector struct {
	seen    uint64    // collections, by the last look
	last    time.Time // when seen changed
	running sync.WaitGroup
	// took is how long the last collection of this collector took, in ns; -1 while one runs.
	took atomic.Int64
}

const (
	// collectAfter is how long after a collection the next one is made.
	collectAfter = 500 * time.Millisecond
	// collectShare is how many times as long as a collection took the next one waits: what is
	// held may be held for long, and a collection of gigabytes takes seconds of a processor.
	collectShare = 20
)

// whileShort makes a collection unless there was one of late. It does not wait for it.
func (c *collector) whileShort(p probe, now time.Time) {
	if n := p.collections(); n != c.seen {
		c.seen, c.last = n, now
		return
	}
	took := c.took.Load()
	if took < 0 || now.Sub(c.last) < max(collectAfter, time.Duration(took)*collectShare) {
		return
	}
	c.took.Store(-1)
	c.running.Go(func() {
		begin := time.Now()
		p.collect()
		c.took.Store(int64(time.Since(begin)))
	})
}
