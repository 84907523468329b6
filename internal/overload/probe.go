package overload

import (
	"runtime"
	"runtime/metrics"
)

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
