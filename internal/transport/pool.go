package transport

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// frames is the pool of memory that frames are read into. Unlike gRPC's own pool it does not
// clear memory, which is overwritten to its end anyway. It has small sizes: an event of a
// stream has a few hundred bytes, and many of them wait for a caller that reads slowly. In
// pieces of 4 KiB they would take ten times the window of the call.
var frames mem.BufferPool = &pool{tiers: [...]tier{{size: 256}, {size: 512}, {size: 1 << 10}, {size: 4 << 10}, {size: 16 << 10}}}

type pool struct{ tiers [5]tier }

type tier struct {
	size int
	free sync.Pool
}

// Get returns memory of a length. Its content is undefined.
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

// Put puts memory back into the pool. Memory larger than a frame is left to the collector.
func (p *pool) Put(b *[]byte) {
	for i := range p.tiers {
		if t := &p.tiers[i]; cap(*b) == t.size {
			t.free.Put(b)
			return
		}
	}
}
