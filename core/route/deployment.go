package route

import (
	"sync"
	"sync/atomic"
)

// deployments are the adaptive bounds of an upstream's models: vendors and engines limit
// each model on its own, and refusals of one say nothing of the others. The zero value is
// good.
type deployments struct {
	mu     sync.RWMutex
	bounds map[string]*bound
	// crowd, if set, counts the queues that are not empty.
	crowd *atomic.Int64
}

// mostDeployments bounds how many models of an upstream are remembered. Callers may name
// any model where a route's pattern does.
const mostDeployments = 1024

// of gives the bound of a model. When there are too many models, those that have no calls
// and no bound are forgotten, and the newest share one while there is no room.
func (d *deployments) of(model string) *bound {
	d.mu.RLock()
	b := d.bounds[model]
	d.mu.RUnlock()
	if b != nil {
		return b
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.bounds) >= mostDeployments {
		for name, b := range d.bounds {
			if b.idle() {
				delete(d.bounds, name)
			}
		}
		if len(d.bounds) >= mostDeployments {
			model = ""
		}
	}
	if b := d.bounds[model]; b != nil {
		return b
	}
	if d.bounds == nil {
		d.bounds = map[string]*bound{}
	}
	b = &bound{}
	b.queue.crowd = d.crowd
	d.bounds[model] = b
	return b
}

// known gives the bound of a model that has been called; nil for none.
func (d *deployments) known(model string) *bound {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.bounds[model]
}

// report has queues counted in crowd while they are not empty.
func (d *deployments) report(crowd *atomic.Int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.crowd != nil {
		return
	}
	d.crowd = crowd
	for _, b := range d.bounds {
		b.report(crowd)
	}
}
