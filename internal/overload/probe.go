package overload

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// probe reads the signals of the process. It is not safe for concurrent use.
type probe interface {
	// delay is the latency within which nine of ten goroutines ran that became runnable
	// since the last call; 0 for too few, and while the process is not busy. It is busy if it
	// has used at least half of the processors that it may: if it has not, other processes slow
	// it down, and refusing requests does not help.
	delay() (waited time.Duration, busy bool)
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
	latencies [1]metrics.Sample
	held      [2]metrics.Sample
	cycles    [1]metrics.Sample
	last      []uint64
	share     share
}

func newRuntimeProbe() *runtimeProbe {
	return &runtimeProbe{
		latencies: [1]metrics.Sample{{Name: "/sched/latencies:seconds"}},
		share:     share{quota: ownQuota()},
		cycles:    [1]metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}},
		held:      [2]metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}},
	}
}

// fewest is how many latencies are enough for a figure. The runtime takes one in eight.
const fewest = 8

func (p *runtimeProbe) delay() (waited time.Duration, busy bool) {
	waited = p.latency()
	if !p.share.large(time.Now()) {
		return 0, false
	}
	return waited, true
}

// latency is the delay without regard to how much the process uses of its processors.
func (p *runtimeProbe) latency() time.Duration {
	metrics.Read(p.latencies[:])
	h := p.latencies[0].Value.Float64Histogram()
	first := p.last == nil
	if first {
		p.last = make([]uint64, len(h.Counts))
	}
	total := uint64(0)
	for i, n := range h.Counts {
		total += n - p.last[i]
	}
	above, at := total/10, len(h.Counts)-1
	for seen := uint64(0); at > 0; at-- {
		if seen += h.Counts[at] - p.last[at]; seen > above {
			break
		}
	}
	copy(p.last, h.Counts)
	low := h.Buckets[at]
	if first || total < fewest || math.IsInf(low, 0) {
		return 0
	}
	return time.Duration(low * float64(time.Second))
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

// share is how much of its processors the process uses.
type share struct {
	used  time.Duration
	at    time.Time
	quota float64 // in processors; 0 for none
}

// largeShare is the part of the processors from which their use is the process's own.
const largeShare = 0.5

// large reports whether the process has used a large share of the processors that it may
// use since the last call. It is the fallback where the system does not report it.
func (s *share) large(now time.Time) bool {
	used, known := processorTime()
	if !known {
		return true
	}
	before := *s
	s.used, s.at = used, now
	return float64(used-before.used) >= largeShare*float64(now.Sub(before.at))*s.processors()
}
