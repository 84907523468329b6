package route

import (
	"cmp"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"google.golang.org/protobuf/proto"
)

// Candidates calls yield with each upstream that may be asked; it is core.Planner's.
func (r *Router) Candidates(spoken genwayv1.Protocol, model string, asked proto.Message, yield func(upstream.Candidate)) {
	route, _ := r.table.Load().find(spoken, model)
	if route == nil {
		return
	}
	images := draws(asked)
	for _, list := range [][]Target{route.first(spoken, images), serving(route.Fallback, images)} {
		for i := range list {
			t := &list[i]
			c := upstream.Candidate{Upstream: t.Name, Model: cmp.Or(t.Model, model)}
			switch asked := asked.(type) {
			case *genwayv1.GenerateImageRequest:
				c.Answers, _ = t.Overrides.Number("count", int64(asked.GetCount()), asked.Count != nil)
			case *genwayv1.GenerateTextRequest:
				t.plan(&c, asked)
			}
			yield(c)
		}
	}
}

// draws reports whether a request is for images.
func draws(asked proto.Message) bool {
	_, images := asked.(*genwayv1.GenerateImageRequest)
	return images
}

// plan sets what the target would be asked by a text request. A maximum below 0 is none.
func (t *Target) plan(c *upstream.Candidate, text *genwayv1.GenerateTextRequest) {
	const maximum = "max_output_tokens"
	sampling := text.GetSampling()
	c.ServiceTier = t.Overrides.Word("service_tier", text.GetServiceTier())
	c.Answers, _ = t.Overrides.Number("candidate_count", int64(sampling.GetCandidateCount()), sampling != nil && sampling.CandidateCount != nil)
	asked, sent := t.Overrides.Number(maximum, text.GetMaxOutputTokens(), text.MaxOutputTokens != nil)
	sent = sent && asked >= 0
	compacts := text.GetCompact() && protocol.Of(t.Protocol).Compacts() // takes no settings
	open := text.MaxOutputTokens == nil || text.GetMaxOutputTokens() < 0
	if c.MaxOutput = asked; !sent || open || compacts {
		if c.MaxOutput = t.maxOutput(c.Model); sent && !compacts && (c.MaxOutput < 0 || asked < c.MaxOutput) {
			c.MaxOutput = asked
		}
	}
	c.Cuts = open && !compacts && !t.Overrides.Drops(maximum)
}

// maxOutput is how many tokens an answer of a model has at most: by the catalogue, or by what the protocol has in place of a
// maximum that is not set. Below 0 is not known.
func (t *Target) maxOutput(model string) int64 {
	if known := t.Catalog.Find(model).MaxOutput; known != nil {
		return *known
	}
	if limit := protocol.Of(t.Protocol).Upstream.MaxTokens; limit != nil {
		return limit(model)
	}
	return -1
}

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

// pinned returns a route to one upstream alone, by whatever name it has for a model: the first target
// with that model, or else the first that takes any, or else the first of the upstream. The route
// has no guard: what an administrator tries is sent whatever the checks and the breaker say, and
// changes neither.
func (t *table) pinned(upstream, model string) (*Route, error) {
	var found *Target
	rank := 0
	for i := range t.routes {
		for _, list := range [][]Target{t.routes[i].Targets, t.routes[i].Fallback} {
			for j := range list {
				target := &list[j]
				if target.Name != upstream {
					continue
				}
				fits := 1
				switch target.Model {
				case model:
					fits = 3
				case "":
					fits = 2
				}
				if fits > rank {
					found, rank = target, fits
				}
			}
		}
	}
	if found == nil {
		return nil, fault.UpstreamNotFound()
	}
	alone := *found
	alone.Model, alone.Guard = model, nil
	if rank == 1 {
		alone.Overrides = nil // they are of another model
	}
	return &Route{Targets: []Target{alone}}, nil
}
