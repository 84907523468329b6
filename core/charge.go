package core

import (
	"cmp"
	"strings"
	"time"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Pricer finds what a model costs, as *price.Book does.
type Pricer interface {
	FindFirst(q price.Query) (price.Price, bool)
}

// answering is a call of an upstream whose usage is charged.
type answering struct {
	upstream, model, tier string
	// names are those by which the model's price is looked for, the most particular first.
	names []string
	drawn drawn
}

// charges adds what the answer costs, and what its upstream has billed beside it, by the prices that were valid when the request
// came in. own is what the answer itself has used.
//
// The model of the answer is looked for by the name the upstream answered with, then by the one it was asked for, then
// by the caller's: the first says which of several it was that worked.
func (s *Service) charges(charges []ledger.Charge, a *admission, model string, own ledger.Usage) []ledger.Charge {
	r := a.record
	call := answering{upstream: r.Upstream, model: model, tier: r.ServedTier, names: []string{model, r.TargetModel, r.AskedModel}, drawn: a.drawn}
	return s.charged(charges, r.Start, call, "", own, a.usage)
}

// charged adds the charges of a call: first of its own usage, then of what u names beside its totals.
func (s *Service) charged(charges []ledger.Charge, at time.Time, call answering, kind string, own ledger.Usage, u *genwayv1.Usage) []ledger.Charge {
	main := ledger.Charge{
		Upstream: call.upstream, Model: clean(call.model), Kind: kind, Terms: termsOf(call.tier, u), Usage: own, Calls: callsOf(u), Unpriced: unknownWrites(u),
	}
	for _, n := range main.Calls {
		main.Usage.ToolCalls = amount.Sum(main.Usage.ToolCalls, n)
	}
	s.pay(&main, at, call.drawn, call.names)
	charges = append(charges, main)
	for _, m := range u.GetModels() {
		c := ledger.Charge{Upstream: main.Upstream, Model: main.Model, Kind: clean(m.GetKind()), Terms: main.Terms, Usage: usageOf(m.GetUsage()), Unpriced: unknownWrites(m.GetUsage())}
		names := call.names
		if m.GetModel() != "" {
			c.Model, names = clean(m.GetModel()), []string{m.GetModel()}
		}
		s.pay(&c, at, drawn{}, names)
		charges = append(charges, c)
	}
	return charges
}

// pay sets what a charge costs, by the price of the first of the models that has one. What has none of its own is unpriced.
func (s *Service) pay(c *ledger.Charge, at time.Time, made drawn, models []string) {
	exact := false
	if c.Upstream != "" {
		var p price.Price
		var ok bool
		if p, exact, ok = s.priceOf(price.Query{Upstream: c.Upstream, Models: models, Terms: c.Terms, At: at}); ok {
			p.ForImage(made.size, made.quality).Charge(c)
		}
	}
	c.Unpriced = c.Unpriced || !exact && c.Usage != (ledger.Usage{})
}

// priceOf finds a price. Where what was served by other terms than the standard has none, that is the standard one,
// which is not exact: what is charged by it is unpriced, but not free, so that no key leaves its budget by asking for a tier.
func (s *Service) priceOf(q price.Query) (p price.Price, exact, ok bool) {
	if s.config.Prices == nil {
		return price.Price{}, false, false
	}
	if p, ok = s.config.Prices.FindFirst(q); ok || q.Terms == (ledger.Terms{}) {
		return p, ok, ok
	}
	q.Terms = ledger.Terms{}
	p, ok = s.config.Prices.FindFirst(q)
	return p, false, ok
}

// price finds the price of a call that a model has answered.
func (s *Service) price(a *admission, answered string) (price.Price, bool) {
	r := a.record
	p, _, ok := s.priceOf(price.Query{Upstream: r.Upstream, Models: []string{answered, r.TargetModel, r.AskedModel}, Terms: termsOf(r.ServedTier, a.usage), At: r.Start})
	return p.ForImage(a.drawn.size, a.drawn.quality), ok && r.Upstream != ""
}

// termsOf are how an answer was served: by its usage or, of the tier, by a header of the answer.
func termsOf(tier string, u *genwayv1.Usage) ledger.Terms {
	return ledger.NewTerms(cmp.Or(u.GetServiceTier(), tier), u.GetSpeed(), u.GetInferenceGeo())
}

// callsOf are the calls of hosted tools, by the tool.
func callsOf(u *genwayv1.Usage) map[string]int64 {
	if len(u.GetTools()) == 0 {
		return nil
	}
	calls := map[string]int64{}
	for _, t := range u.GetTools() {
		calls[clean(t.GetTool())] += t.GetCalls()
	}
	return calls
}

// unknownWrites reports whether tokens were written to a cache for a time that has no price of its own.
func unknownWrites(u *genwayv1.Usage) bool {
	for _, w := range u.GetCacheWrites() {
		if w.GetTokens() > 0 && w.GetTtl() != defaultTTL && kindOfTTL(w.GetTtl()) == nil {
			return true
		}
	}
	return false
}

// defaultTTL is how long a cache keeps what is part of no lifetime's kind.
const defaultTTL = "5m"

// kindOfTTL is the kind of writes to a cache that keeps them for so long; nil for none.
func kindOfTTL(ttl string) *ledger.Kind {
	for _, k := range ledger.Kinds {
		if k.TTL == ttl && ttl != "" {
			return k
		}
	}
	return nil
}

// clean is a name of an upstream's as the ledger keeps it.
func clean(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	return strings.ToValidUTF8(name, "")
}

// maxName bounds a name of an upstream's, in bytes.
const maxName = 256

// drawn is what an image request gave, and what its images cost by.
type drawn struct {
	images        int
	size, quality string
}

// drawnBy gives the figures of an answer; what it does not say is as it was asked for.
func drawnBy(req *genwayv1.GenerateImageRequest, resp *genwayv1.GenerateImageResponse) drawn {
	size := resp.GetSize()
	if size == "" && len(resp.GetImages()) > 0 {
		size = resp.GetImages()[0].GetSize()
	}
	return drawnOf(req, len(resp.GetImages()), size, resp.GetQuality())
}

// drawnOf gives the figures of images of that size and quality, which may be empty.
func drawnOf(req *genwayv1.GenerateImageRequest, images int, size, quality string) drawn {
	return drawn{images: images, size: cmp.Or(size, req.GetSize()), quality: cmp.Or(quality, req.GetQuality())}
}
