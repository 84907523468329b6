package overload

import (
	"sync"
	"sync/atomic"
	"time"
)

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
