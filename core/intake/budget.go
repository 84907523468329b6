package intake

import (
	"time"

	"github.com/genway/genway/codec/fault"
)

// share is a part of the budget.
type share struct {
	name string
	most int64
}

// shares are the parts of the budget that the call's bytes count against.
func (c *Call) shares() [2]share {
	half := c.intake.config.Memory / 2
	first := share{"key " + c.who.Key, half}
	if c.who.Keyless {
		first = share{"keyless", min(keylessMemory, half)}
	}
	return [2]share{first, {"address " + c.who.Address, half}}
}

// leastShare is the least of the shares: more than that, the call's bytes can never be.
func (c *Call) leastShare() int64 {
	shares := c.shares()
	return min(shares[0].most, shares[1].most)
}

// grow claims more of the budget; an error says that there is not as much.
func (c *Call) grow(n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended { // what is claimed now would not be given back
		return c.ctx.Err()
	}
	i := c.intake
	i.mu.Lock()
	defer i.mu.Unlock()
	shares := c.shares()
	full := i.held+n > i.config.Memory
	for _, s := range shares {
		full = full || i.shares[s.name]+n > s.most
	}
	if full {
		f := fault.New(fault.Unavailable, "MESSAGES_FULL", "the server holds as many bytes of request messages as it may; try again")
		f.RetryAfter = time.Second
		return f
	}
	i.held += n
	for _, s := range shares {
		i.shares[s.name] += n
	}
	c.held += n
	return nil
}

// release gives back what the call has claimed.
func (c *Call) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == 0 {
		return
	}
	i := c.intake
	i.mu.Lock()
	defer i.mu.Unlock()
	i.held -= c.held
	for _, s := range c.shares() {
		if i.shares[s.name] -= c.held; i.shares[s.name] == 0 {
			delete(i.shares, s.name)
		}
	}
	c.held = 0
}
