package core

import (
	"cmp"
	"strings"
	"time"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/internal/tokens/content"
	"github.com/genway/genway/protocol"
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

// MaxUsageTokens is the largest plausible number of tokens of one class in one request: ten
// times the largest context of any model. Genway knows no model's context, and an
// upstream's own tools may read it several times.
const MaxUsageTokens = 100_000_000

// plausible reports whether all figures of an upstream's usage can be true: none is below 0 or beyond all contexts, and no part
// is more than its whole. The total is ignored, since no charge depends on it.
func plausible(u *genwayv1.Usage) bool {
	if len(u.GetModels()) >= ledger.MaxCharges || len(u.GetTools()) >= ledger.MaxCharges {
		return false
	}
	for _, m := range u.GetModels() {
		if !plausibleTotals(m.GetUsage()) {
			return false
		}
	}
	for _, t := range u.GetTools() {
		if !plausibleFigure(t.GetCalls()) {
			return false
		}
	}
	return plausibleTotals(u)
}

func plausibleFigure(n int64) bool { return n >= 0 && n <= MaxUsageTokens }

func plausibleTotals(u *genwayv1.Usage) bool {
	for _, n := range [...]int64{u.GetInputTextTokens(), u.GetOutputTextTokens(), u.GetToolUseInputTokens()} {
		if !plausibleFigure(n) {
			return false
		}
	}
	for _, w := range u.GetCacheWrites() {
		if !plausibleFigure(w.GetTokens()) {
			return false
		}
	}
	used := usageOf(u)
	for _, k := range ledger.Kinds {
		if !plausibleFigure(*used.At(k)) {
			return false
		}
	}
	return used.Check() == nil
}

// implausible names the loss of figures that are kept from callers whose answer is
// translated.
func implausible() *genwayv1.Loss {
	return &genwayv1.Loss{Member: "usage", Reason: "the upstream's figures cannot be true"}
}

// meter is where usage enters: the ledger, limits and metrics have what it leaves in the
// result. It counts the request and the answer itself where the upstream's figures cannot be true, and
// replaces what they lack:
//
//   - A complete answer lacks its output when it has text and the upstream reports 0, and its input when
//     neither is reported: an engine with a cache reports an input of 0 and means it.
//   - An answer that broke off before the upstream reported its final usage lacks the input unless one was
//     reported, be it 0, and what was seen of the output beyond that which was reported. It costs
//     nothing when nothing of it was seen and the upstream cannot charge for it.
func (s *Service) meter(a *admission, r *ledger.Result) {
	switch {
	case !plausible(a.record.Usage):
		r.UsageSource = ledger.Rejected
		a.usage = &genwayv1.Usage{ServiceTier: a.usage.GetServiceTier(), Speed: a.usage.GetSpeed(), InferenceGeo: a.usage.GetInferenceGeo()}
	case a.complete && r.Usage.Output > 0, a.reported, !a.complete && !a.record.Accepted && a.flow == 0 && a.drawn.images == 0:
		return
	default:
		r.UsageSource = ledger.Estimated
	}
	usage, ok := a.req.usage(a, *r)
	if !ok || r.UsageSource == ledger.Estimated && usage == r.Usage {
		r.UsageSource = ledger.Reported
		return
	}
	r.Usage = usage
	metered(a.record, r)
}

// usage counts a request and its answer. An empty answer may have used nothing, if its upstream reports that.
func (r textRequest) usage(a *admission, result ledger.Result) (usage ledger.Usage, ok bool) {
	usage = result.Usage
	if result.UsageSource == ledger.Estimated && !a.complete {
		if a.record.Usage == nil {
			usage = a.inputUsage(r)
		}
		usage.Output = max(usage.Output, int64(a.flow/bytesPerToken))
		return usage, true
	}
	output := a.answerTokens()
	switch {
	case result.UsageSource == ledger.Rejected:
		usage = a.inputUsage(r)
	case output == 0 && a.record.Usage != nil:
		return usage, false
	case usage.Input == 0:
		usage = a.inputUsage(r)
	}
	usage.Output = output
	return usage, true
}

// maxCounted is how many bytes of a request's texts are counted exactly. Callers who leave choose how often
// that happens, and the worst texts take a second a megabyte.
const maxCounted = 64 << 10

// inputUsage counts a request, once. A request that cannot be decoded is estimated by its size.
func (a *admission) inputUsage(req textRequest) ledger.Usage {
	if a.counted != nil {
		return *a.counted
	}
	a.counted = &ledger.Usage{}
	if whole, err := req.Whole(); err == nil {
		in := content.Estimate(whole, maxCounted)
		a.counted.Input, a.counted.InputImage, a.counted.InputAudio = in.Total(), int64(in.Image), int64(in.Audio)
	} else {
		a.counted.Input = req.input()
	}
	return *a.counted
}

// answerTokens counts what was seen of the answer.
func (a *admission) answerTokens() int64 {
	resp := a.answer
	if resp == nil {
		return a.sample.tokens(a.record.Flow)
	}
	if len(resp.GetCandidates()) > 0 || len(resp.GetWire().GetJson()) == 0 {
		return content.Answer(resp)
	}
	wire := resp.GetWire()
	if c := protocol.Of(wire.GetProtocol()).Codec; c != nil {
		if whole, err := c.DecodeResponse(wire.GetJson()); err == nil {
			return content.Answer(whole)
		}
	}
	return int64(tokens.Count(string(wire.GetJson())))
}

// metered records the figures that replace the upstream's, for the log.
func metered(record *call.Record, r *ledger.Result) {
	record.UsageSource, record.RejectedUsage = string(r.UsageSource), record.Usage
	record.Usage = &genwayv1.Usage{InputTokens: r.Usage.Input, OutputTokens: r.Usage.Output}
}

// tellCost sets the cost of a settled request in its answer, or in the event that completes it, if costs are reported and all
// that was used has a price. A cost that an upstream names is its own.
func (s *Service) tellCost(record *call.Record, answer any) {
	var cost *genwayv1.Cost
	if s.config.Prices != nil && s.config.ReportCost != nil && s.config.ReportCost() && record.Outcome != "" && !record.Unpriced {
		cost = &genwayv1.Cost{NanoDollars: record.Cost, Estimated: record.UsageSource != string(ledger.Reported)}
	}
	switch a := answer.(type) {
	case *genwayv1.GenerateTextResponse:
		a.Cost = cost
	case *genwayv1.GenerateImageResponse:
		a.Cost = cost
	case *genwayv1.StreamGenerateTextResponse:
		if end := a.GetCompleted(); end != nil {
			end.Cost = cost
		}
	case *genwayv1.StreamGenerateImageResponse:
		if end := a.GetCompleted(); end != nil {
			end.Cost = cost
		}
	}
}
