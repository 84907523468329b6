package route

import (
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
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
	// Targets are those among which one is drawn by weight; the others follow when it
	// fails.
	Targets []Target
	// Fallback are those that are tried after them, in order.
	Fallback []Target
}

// Explain says what would become of a request.
func (r *Router) Explain(protocol genwayv1.Protocol, model string) Explanation {
	route, i := r.table.Load().find(protocol, model)
	if route == nil {
		return Explanation{Route: -1}
	}
	images := protocol == genwayv1.Protocol_PROTOCOL_IMAGES
	return Explanation{
		Route: i, Model: route.Model, Strict: route.Strict, Deadline: route.Deadline,
		Targets: route.first(protocol, images), Fallback: serving(route.Fallback, images),
	}
}
