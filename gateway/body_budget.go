package gateway

import (
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
)

// bodyBudget bounds the memory that request bodies take at the edge. One key may have half of
// it, and so may one address.
type bodyBudget struct {
	most int64

	mu     sync.Mutex
	held   int64
	shares map[string]int64
}

func newBodyBudget(most int64) *bodyBudget {
	return &bodyBudget{most: most, shares: map[string]int64{}}
}

// claim is the share of one request in the budget. It is not safe for concurrent use.
type claim struct {
	bodies       *bodyBudget
	key, address string
	held         int64
}

// grow reserves n more bytes. It fails with TooLarge when the request can never have as many,
// and with Unavailable when other requests hold them.
func (c *claim) grow(n int64) error {
	b := c.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	share := b.most / 2
	if c.held+n > share { // it never fits, however often it is tried
		return fault.New(fault.TooLarge, fault.ReasonBodyTooLarge, "the request body, as it is sent and decompressed, is larger than the %d bytes that one caller may have in memory", share)
	}
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

// crowded reports whether more than three quarters of the budget are used.
func (b *bodyBudget) crowded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held > b.most/4*3
}

// end releases all that the request holds.
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
