package overload

import (
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec/fault"
)

// Config configures a Gate. The zero value has the defaults.
type Config struct {
	// Delay is the scheduler latency above which the process is overloaded: nine of ten
	// goroutines that become runnable must run within it. Default 20 ms; negative turns the
	// signal off.
	Delay time.Duration
	// Memory is how much the process may use, in bytes; 0 is what MemoryLimit finds, and
	// negative turns the signal off.
	Memory int64
	// OnRefused, if set, is called once a second with the number of requests that were
	// refused for a signal.
	OnRefused func(signal Signal, p Priority, n int64)
	// Logger gets one line a second while requests are refused. Default: slog.Default().
	Logger *slog.Logger

	probe probe   // of tests
	least float64 // requests a second that are never refused for Delay; 0 is leastPerProcessor
}

// Signal is the reason for which a request is refused.
type Signal uint8

const (
	// Processor is the scheduler latency.
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

// String gives the signal's name in logs and metrics.
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
	// every is the time between two requests that are admitted while rated is set, and due
	// when the next one is (the theoretical arrival time of GCRA), in ns since start.
	every, due atomic.Int64
	// answered is when the next refusal is due to be answered, in ns since start, and held
	// how many wait for their answer.
	answered, held atomic.Int64
	answerEvery    int64 // ns between two refusals that are answered at once
}

// The bits of pressure.
const (
	rated     uint32 = 1 << iota // requests are admitted at a rate
	noBatch                      // memory is short
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
	if config.least == 0 {
		config.least = leastPerProcessor * float64(runtime.GOMAXPROCS(0))
	}
	if config.probe == nil {
		config.probe = newRuntimeProbe()
	}
	every := int64(time.Second) / refusalsPerProcessor / int64(runtime.GOMAXPROCS(0))
	return &Gate{config: config, start: time.Now(), answerEvery: every}
}

// Admit gives nil, or the refusal of a request of that priority: a *fault.Error that all
// callers share and must not change. It never waits.
func (g *Gate) Admit(p Priority) error {
	if g == nil {
		return nil
	}
	if pressed := g.pressed.Load(); pressed != 0 {
		if signal, ok := g.decide(pressed, p); !ok {
			return g.Refuse(signal, p)
		}
	}
	g.admitted.Add(1)
	return nil
}

// Refuse counts a request that is refused for a signal, and gives the refusal.
func (g *Gate) Refuse(signal Signal, p Priority) error {
	if g == nil {
		return refusals[0]
	}
	return refusals[g.refused[signal][p].Add(1)%int64(len(refusals))]
}

// Pressed reports whether requests are refused at the moment.
func (g *Gate) Pressed() bool { return g != nil && g.pressed.Load() != 0 }

func (g *Gate) decide(pressed uint32, p Priority) (Signal, bool) {
	switch {
	case pressed&noneAtAll != 0, pressed&noBatch != 0 && p == Batch:
		return Memory, false
	case pressed&rated == 0:
		return 0, true
	}
	// GCRA: a request conforms if it is not more than the burst ahead of its time. Batch
	// requests get what is left when no others have used the burst.
	every := g.every.Load()
	burst := max(int64(g.config.Delay), leastBurst*every)
	if p == Batch {
		burst = 0
	}
	now := int64(time.Since(g.start))
	for {
		due := g.due.Load()
		if due-now > burst {
			return Processor, false
		}
		if g.due.CompareAndSwap(due, max(due, now)+every) {
			return 0, true
		}
	}
}

// refusals are ready, with waits that differ so that callers do not all come back at once.
var refusals = func() (all [8]*fault.Error) {
	for i := range all {
		all[i] = fault.New(fault.Overloaded, fault.ReasonOverloaded, "the server has more requests than it can serve; try again")
		all[i].RetryAfter = time.Second + time.Duration(i)*125*time.Millisecond
	}
	return all
}()
