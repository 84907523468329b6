package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// roomy is the heap up to which garbage is let lie. Go collects when the heap has
// doubled, and a gateway at rest keeps so little that under load it would collect
// hundreds of times a second.
const roomy = 32 << 20

// TuneMemory has the collector wait for a heap of at least that size; larger heaps are
// collected when they have doubled. By itself Go would let them grow by the size of all
// stacks as well, and those of a thousand streams are half as large as their heap. It leaves the
// choice to an operator who has set GOGC or GOMEMLIMIT.
func TuneMemory() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	t := &tuner{percent: 100, sample: []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/globals:bytes"}, {Name: "/gc/scan/stack:bytes"},
	}}
	t.tune()
	t.again(new(cycle))
}

// tuner sets the collector's percentage again after each collection.
type tuner struct {
	sample  []metrics.Sample
	percent int
}

// cycle is garbage whose finalizer tells that there was a collection.
type cycle struct{ _ [16]byte }

func (t *tuner) again(c *cycle) {
	runtime.SetFinalizer(c, func(c *cycle) {
		t.tune()
		t.again(c)
	})
}

func (t *tuner) tune() {
	metrics.Read(t.sample)
	want := percentFor(t.sample[0].Value.Uint64(), t.sample[1].Value.Uint64()+t.sample[2].Value.Uint64())
	// To set it stops the world for a moment.
	if change := want - t.percent; change > t.percent/8 || change < -t.percent/8 {
		t.percent = want
		debug.SetGCPercent(want)
	}
}

// percentFor is how much garbage fills the heap to roomy, or doubles it, in percent of
// what is alive and of the roots: the collector reckons with both.
func percentFor(live, roots uint64) int {
	garbage := live
	if live < roomy/2 {
		garbage = roomy - live
	}
	// No heap is collected below 4 MiB times the percentage.
	return min(int(garbage*100/max(live+roots, 1)), roomy/(4<<20)*100)
}
