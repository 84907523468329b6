package gateway

import (
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
)

// bodies is the edge's budget of memory for request bodies. One key and one address may
// have half of it each.
type bodies struct {
	most int64

	mu     sync.Mutex
	held   int64
	shares map[string]int64
}

func newBodies(most int64) *bodies { return &bodies{most: most, shares: map[string]int64{}} }

// claim is what one request holds of the budget. Not for concurrent use.
type claim struct {
	bodies       *bodies
	key, address string
	held         int64
}

// grow takes more of the budget; an error says that there is not as much.
func (c *claim) grow(n int64) error {
	b := c.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	share := b.most / 2
	if b.held+n > b.most || b.shares[c.key]+n > share || b.shares[c.address]+n > share {
		f := fault.New(fault.Unavailable, "BODIES_FULL", "the server holds as many bytes of request bodies as it may; try again")
		f.RetryAfter = time.Second
		return f
	}
	b.held += n
	b.shares[c.key] += n
	b.shares[c.address] += n
	c.held += n
	return nil
}

// end gives all of it back.
func (c *claim) end() {
	if c.held == 0 {
		return
	}
	b := c.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= c.held
	for _, whose := range [...]string{c.key, c.address} {
		if b.shares[whose] -= c.held; b.shares[whose] == 0 {
			delete(b.shares, whose)
		}
	}
	c.held = 0
}
