package route

import (
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// Explanation is which targets would serve a request.
type Explanation struct {
	// Route is the number of the route in the file, from 0; -1 when none matches.
	Route int
	// Model is the route's pattern.
	Model string
	// Strict and Deadline are the route's.
	Strict   bool
	Deadline time.Duration
	// Strategy and Sticky are how the Targets share the load.
	Strategy Strategy
	Sticky   bool
	// Targets are those that share the load: one is tried, and the others follow when it
	// fails.
	Targets []Target
	// Fallback are those that are tried after them, in order.
	Fallback []Target
}

// Explain says what would become of a request.
func (r *Router) Explain(caller genwayv1.Protocol, model string) Explanation {
	route, i := r.table.Load().find(caller, model)
	if route == nil {
		return Explanation{Route: -1}
	}
	images := protocol.Of(caller).Images
	return Explanation{
		Route: i, Model: route.Model, Strict: route.Strict, Deadline: route.Deadline, Strategy: route.Strategy, Sticky: route.Sticky,
		Targets: route.first(caller, images), Fallback: serving(route.Fallback, images),
	}
}
