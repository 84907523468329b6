package route

import (
	"cmp"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// Candidates calls yield with each upstream that may be asked for a model, what the model is called there, and how many
// tokens an answer there has at most; it is core.Planner's.
func (r *Router) Candidates(spoken genwayv1.Protocol, model string, images bool, yield func(upstream, model string, maxOutput int64)) {
	route, _ := r.table.Load().find(spoken, model)
	if route == nil {
		return
	}
	for _, list := range [][]Target{route.first(spoken, images), serving(route.Fallback, images)} {
		for _, t := range list {
			asked := cmp.Or(t.Model, model)
			yield(t.Name, asked, t.maxOutput(asked))
		}
	}
}

// maxOutput is how many tokens an answer of a model has at most whose request sets no maximum: what the target's overrides
// set, what the catalogue says of the model, or what the protocol has in its place. 0 is not known.
func (t *Target) maxOutput(model string) int64 {
	most := int64(0)
	if known := t.Catalog.Find(model).MaxOutput; known != nil {
		most = *known
	} else if limit := protocol.Of(t.Protocol).Upstream.MaxTokens; limit != nil {
		most = limit(model)
	}
	if set, ok := t.Overrides.MaxOutput(); ok && (most == 0 || set < most) {
		most = set
	}
	return most
}
