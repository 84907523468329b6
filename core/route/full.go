package route

import (
	"cmp"
	"sync/atomic"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/overload"
)

// report has the guard's queues counted in crowd while they are not empty. A guard is reported
// to the first router that has it.
func (g *Guard) report(crowd *atomic.Int64) {
	if g == nil {
		return
	}
	g.bound.report(crowd)
	g.models.report(crowd)
}

// full reports whether a call for a model would find neither a place nor one in a queue.
func (g *Guard) full(model string, p overload.Priority) bool {
	return g.bound.full(p) || g.models.known(model).full(p)
}

// Full gives the refusal of a request all of whose targets are at their bound, with as many
// calls waiting as may: it would be refused anyway, and costs less here. Nil says nothing.
func (r *Router) Full(protocol genwayv1.Protocol, model string, images bool, p overload.Priority) error {
	if r.crowd.Load() == 0 {
		return nil
	}
	route, _ := r.table.Load().find(protocol, model)
	if route == nil {
		return nil
	}
	some := false
	for _, targets := range [][]Target{route.first(protocol, images), serving(route.Fallback, images)} {
		for _, t := range targets {
			if t.Guard == nil || !t.Guard.full(cmp.Or(t.Model, model), p) {
				return nil
			}
			some = true
		}
	}
	if !some {
		return nil
	}
	return errBusy
}
