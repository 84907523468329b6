package overload

import (
	"context"
	"log/slog"
	"math"
	"runtime"
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
