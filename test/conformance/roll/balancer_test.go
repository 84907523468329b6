package roll

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// balancer returns each request to the next edge that says to be ready.
type balancer struct {
	backends []*backend
	turn     atomic.Int64
	probing  sync.WaitGroup
}

type backend struct {
	address string
	up      atomic.Bool
}

// probeEvery is how often edges are asked whether they are ready.
const probeEvery = 50 * time.Millisecond

// balance probes edges until ctx ends.
func balance(ctx context.Context, edges []*station) *balancer {
	b := &balancer{}
	for _, edge := range edges {
		one := &backend{address: edge.address}
		one.probe(ctx)
		b.backends = append(b.backends, one)
		b.probing.Go(func() {
			tick := time.NewTicker(probeEvery)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					one.probe(ctx)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return b
}

// probe asks an edge whether it is ready. One that does not answer in time stays what it was, as with a balancer that takes
// no edge out for a single probe: on a machine that is busy, the probe itself may be late.
func (b *backend) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.address+"/readyz", http.NoBody)
	if err != nil {
		return
	}
	resp, err := probes.Do(req)
	if err != nil {
		return
	}
	_ = resp.Body.Close()
	b.up.Store(resp.StatusCode == http.StatusOK)
}

var probes = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// next returns the address for a request; the first one if none is ready.
func (b *balancer) next() string {
	n := len(b.backends)
	start := int(b.turn.Add(1))
	for i := range n {
		if one := b.backends[(start+i)%n]; one.up.Load() {
			return one.address
		}
	}
	return b.backends[0].address
}

func (b *balancer) ready(address string) bool {
	for _, one := range b.backends {
		if one.address == address {
			return one.up.Load()
		}
	}
	return false
}
