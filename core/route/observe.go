package route

import (
	"cmp"

	"github.com/genway/genway/protocol"
	"github.com/genway/genway/telemetry/instrument"
)

// inference gives the labels of the metrics of an attempt at the target. The model is that of
// the configuration: where it leaves the name to callers, the pattern of the route stands for
// it.
func (t *Target) inference(r *Route, q request) instrument.Inference {
	names := protocol.Of(t.Protocol).Telemetry
	operation := names.Operation
	switch {
	case q.counted:
		operation = instrument.CountTokens
	case q.images:
		operation = protocol.OperationGenerateContent
	}
	return instrument.Inference{Operation: operation, Provider: names.Provider, Model: cmp.Or(t.Model, r.Model), Route: r.Model, Upstream: t.Name}
}

// Breakers calls yield with each upstream that has a circuit breaker, and its state: 0
// closed, 1 half-open, 2 open.
func (r *Router) Breakers(yield func(upstream string, state int)) {
	seen := map[*Guard]bool{}
	for _, route := range r.table.Load().routes {
		for _, targets := range [][]Target{route.Targets, route.Fallback} {
			for i := range targets {
				if g := targets[i].Guard; g != nil && g.breaker != nil && !seen[g] {
					seen[g] = true
					yield(targets[i].Name, g.breaker.state())
				}
			}
		}
	}
}
