package hop

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// frames has the memory that frames are read into. Unlike gRPC's own pool it does not
// wipe what it gives out, which is read over to its end anyway. An event of a stream is a
// few hundred bytes, and a caller who reads slowly has many of them wait: in memory of 4 KiB
// each they would take ten times what the window of the call allows.
var frames mem.BufferPool = &pool{tiers: [...]tier{{size: 256}, {size: 512}, {size: 1 << 10}, {size: 4 << 10}, {size: 16 << 10}}}

type pool struct{ tiers [5]tier }

type tier struct {
	size int
	free sync.Pool
}

// Get gives memory of a length, with anything in it.
func (p *pool) Get(length int) *[]byte {
	for i := range p.tiers {
		t := &p.tiers[i]
		if length > t.size {
			continue
		}
		if b, ok := t.free.Get().(*[]byte); ok {
			*b = (*b)[:length]
			return b
		}
		b := make([]byte, length, t.size)
		return &b
	}
	b := make([]byte, length)
	return &b
}

// Put takes it back. What is larger than a frame is left to the collector.
func (p *pool) Put(b *[]byte) {
	for i := range p.tiers {
		if t := &p.tiers[i]; cap(*b) == t.size {
			t.free.Put(b)
			return
		}
	}
}
