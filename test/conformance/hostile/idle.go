package hostile

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Connections are idle ones, on which nothing was sent.
type Connections struct {
	peers   []*peer
	ended   atomic.Int64
	change  chan struct{}
	reading sync.WaitGroup
}

// Idle opens so many connections.
func Idle(ctx context.Context, port Port, n int) (*Connections, error) {
	c := &Connections{change: make(chan struct{}, n)}
	for range n {
		p, err := dial(ctx, port)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.peers = append(c.peers, p)
		c.reading.Go(func() {
			p.drain()
			c.ended.Add(1)
			c.change <- struct{}{}
		})
	}
	return c, nil
}

// Ended waits until the server has ended so many of the connections, for half a minute, and
// gives how many it has.
func (c *Connections) Ended(n int) int {
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for int(c.ended.Load()) < n {
		select {
		case <-c.change:
		case <-limit.C:
			return int(c.ended.Load())
		}
	}
	return int(c.ended.Load())
}

// Close closes the connections.
func (c *Connections) Close() {
	for _, p := range c.peers {
		_ = p.Close()
	}
	c.reading.Wait()
}
