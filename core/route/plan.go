package route

import (
	"cmp"

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
