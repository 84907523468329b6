package route

import (
	"cmp"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Candidates calls yield with each upstream that may be asked for a model, and what the
// model is called there; it is core.Planner's.
func (r *Router) Candidates(protocol genwayv1.Protocol, model string, images bool, yield func(upstream, model string)) {
	route, _ := r.table.Load().find(protocol, model)
	if route == nil {
		return
	}
	for _, list := range [][]Target{route.first(protocol, images), serving(route.Fallback, images)} {
		for _, t := range list {
			yield(t.Name, cmp.Or(t.Model, model))
		}
	}
}
