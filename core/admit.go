package core

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/protobuf/proto"
)

// request is what admission and accounting ask of a request. There is one for each operation that names a model:
// textRequest, imageRequest and countRequest.
type request interface {
	// message is the request as the contract has it, nil for one that is not weighed. That of text lacks the conversation if it is not decoded.
	message() message
	// estimate guesses what the request takes beside its input; outputTokens is assumed for one that sets no
	// maximum; budgets of money assume the most that the model can answer.
	estimate(outputTokens int64) estimate
	// input guesses the tokens of the input.
	input() int64
	// usage counts the request and its answer, for a result whose usage cannot be true or may lack something; false where
	// the upstream's report is complete. A pointer would put each result on the heap.
	usage(*admission, ledger.Result) (ledger.Usage, bool)
}

type message interface {
	proto.Message
	GetWire() *genwayv1.WireMessage
}

// textRequest is a request for text, or to compact a conversation.
type textRequest struct{ *deferred.Request }

func (r textRequest) message() message { return r.Head() }

// unweighed is a call that takes no tokens and names no model. It is brief, so that a response in the background can be fetched
// and cancelled that has the last place of its key.
type unweighed struct{}

func (unweighed) message() message                                     { return nil }
func (unweighed) estimate(int64) estimate                              { return estimate{} }
func (unweighed) input() int64                                         { return 0 }
func (unweighed) usage(*admission, ledger.Result) (ledger.Usage, bool) { return ledger.Usage{}, false }

// countRequest is a request to count tokens, which takes none.
type countRequest struct {
	unweighed
	*genwayv1.CountTokensRequest
}

func (r countRequest) message() message { return r.CountTokensRequest }

// admission is what an admitted call holds, and what the service has seen of its answer. It
// points to the record of the call, which does not know it.
type admission struct {
	*limit.Reservation
	estimate

	service *Service
	record  *call.Record
	req     request
	// entry is the row of the request; nil without a ledger. concluded is set when it is closed.
	entry     *ledger.Record
	concluded bool

	// tools are the calls of hosted tools that the request allows, once they are looked for.
	tools *hostedCalls
	// counted is the usage of the request; nil until it is counted.
	counted *ledger.Usage
	// usage is what the upstream has reported, once the request is concluded: what is charged beside its totals is in it.
	usage *genwayv1.Usage

	// reserved is the output tokens that are reserved, funded those whose cost is reserved; flow is the bytes of
	// output that were seen.
	reserved, funded int64
	flow             int

	// complete is set when the whole answer is there: in answer if it is unary, else in sample,
	// as far as its usage can be seen in it. drawn is what an image request gave.
	complete bool
	// reported is set when the upstream has reported the final usage of an answer that is not complete.
	reported bool
	answer   *genwayv1.GenerateTextResponse
	sample   sample
	drawn    drawn
}

// admit is the one place where calls are admitted, of every RPC: what the key may do,
// then all limits at once. The caller settles what it returns. Errors are *fault.Error
// values.
func (s *Service) admit(ctx context.Context, record *call.Record, req request) (*admission, error) {
	caller := &record.Caller
	if strings.Contains(record.AskedModel, keys.Prefix) { // it would go to an upstream
		return nil, fault.Invalid("model", "model: an API key is no model's name")
	}
	if err := permit(ctx, *caller, record.AskedModel); err != nil {
		return nil, err
	}
	if err := permitModels(*caller, req.message()); err != nil {
		return nil, err
	}
	_, brief := req.(unweighed)
	who := limit.Who{KeyID: caller.KeyID, Owner: caller.Owner, Model: record.AskedModel, Brief: brief}
	if caller.Policy != nil {
		who.Limits = caller.Policy.Limits
	}
	admitted := &admission{Reservation: s.config.Limiter.Prepare(who), service: s, record: record, req: req}
	if admitted.Reservation == nil {
		return admitted, nil
	}
	rules := admitted.Rules()
	admitted.estimate = req.estimate(rules.OutputTokens)
	admitted.reserved = admitted.output
	var least limit.Amount
	var open *bound // of a request without a maximum
	var most int64
	if admitted.Weighed() {
		admitted.input = req.input()
		least.Tokens = admitted.tokens()
	}
	if admitted.Budgeted() && admitted.weighs {
		b := admitted.bound(admitted.estimate, max(rules.OutputTokens, 1))
		if !b.priced && !rules.AllowUnpriced {
			return nil, unpriced(record.AskedModel, b.terms)
		}
		admitted.funded = b.output
		if least.Cost = b.least; admitted.open {
			open, most = b, b.most
		}
	}
	asked := time.Now()
	held, standing, err := admitted.ReserveUpTo(ctx, least, most)
	if admitted.Limited() {
		record.Limits = record.StageSince(asked)
	}
	sendStanding(ctx, standing)
	if refused, ok := errors.AsType[*limit.Refusal](err); ok {
		s.config.Metrics.RefusedByLimit(refused.Scope.String(), refused.Metric.String())
		return nil, refusal(refused, admitted.member())
	}
	if err != nil {
		f := fault.Wrap(err, fault.Unavailable, ReasonLimitsUnavailable, "limits cannot be checked at the moment; try again")
		f.RetryAfter = time.Second
		return nil, f
	}
	if most > 0 {
		admitted.fund(held, open)
	}
	return admitted, nil
}

// fund has the answers of a request that sets no maximum end where the money ends that it holds. b is what they may cost.
func (a *admission) fund(held int64, b *bound) {
	longest := b.longest
	if held < b.most {
		longest = int64(sort.Search(int(longest), func(n int) bool { return a.bound(a.estimate, int64(n)+1).least > held }))
		a.record.MaxOutput = max(longest, 1)
	}
	a.funded = amount.Times(longest, b.answers)
}

// permit holds a caller to what its key may do.
func permit(ctx context.Context, caller call.Caller, model string) error {
	policy := caller.Policy
	if policy == nil {
		return nil
	}
	if len(policy.Addresses) > 0 && !policy.AllowsAddress(auth.AddressOf(ctx, caller)) {
		return fault.New(fault.PermissionDenied, ReasonAddressNotAllowed, "this key may not be used from this address")
	}
	if len(policy.Certificates) > 0 {
		switch shown := auth.CertificateOf(ctx, caller); {
		case len(shown) == 0:
			return fault.New(fault.PermissionDenied, ReasonNoCertificate, "this key may be used with a client certificate only, and none was shown that this server accepts")
		case !policy.AllowsCertificate(shown):
			return fault.New(fault.PermissionDenied, ReasonCertificate, "this key may not be used with this client certificate")
		}
	}
	if model != "" && !policy.AllowsModel(model) {
		e := fault.New(fault.PermissionDenied, ReasonModelNotAllowed, "this key may not use the model %q", model)
		e.Param = "model"
		return e
	}
	return nil
}

// permitModels holds a caller whose key has a list of models to that list wherever else the body of
// its request names a model. A member by which another model could be chosen is refused if the model
// is not known. Requests of other keys are not looked into.
func permitModels(caller call.Caller, req message) error {
	if req == nil || caller.Policy == nil || len(caller.Policy.Models) == 0 {
		return nil
	}
	base := ""
	check := func(path, model string, named bool) error {
		if named && caller.Policy.AllowsModel(model) {
			return nil
		}
		path = base + path
		e := fault.New(fault.PermissionDenied, ReasonModelNotAllowed, "%s: this key is limited to certain models, and this member may choose another", path)
		if e.Param = path; named {
			e.Message = fmt.Sprintf("%s: this key may not use the model %q", path, model)
		}
		return e
	}
	if wire := req.GetWire(); len(wire.GetJson()) > 0 && images.FormType(wire.GetJson()) == "" {
		base = protocol.InBody
		return protocol.Of(wire.GetProtocol()).EachModel(wire.GetJson(), check)
	}
	return protocol.EachModelOf(req, check)
}

// Planner is an upstream that asks others, and knows which.
type Planner interface {
	// Candidates calls yield with each upstream that may be asked for a model by a request; that for text may lack the
	// conversation.
	Candidates(protocol genwayv1.Protocol, model string, asked proto.Message, yield func(upstream.Candidate))
}

// bound is an upper bound of what a request costs at any upstream that may be asked. It finds them in one pass, since each
// takes memory.
type bound struct {
	*admission

	e estimate
	// speed and geo are what the request asks to be served by, beside its tier.
	speed, geo string
	// answer is how long each answer may be to a request that sets no maximum.
	answer int64
	// least is what the request costs then, and most with the longest answers that there can be. They are not known,
	// and priced is not set, if an upstream has no price for the terms.
	least, most int64
	priced      bool
	terms       ledger.Terms
	// longest is the longest of those answers, in tokens, answers how many there are, and output all of them.
	longest, answers, output int64
}

// bound returns what something costs whose answers, if it sets no maximum, have at most so many tokens.
func (a *admission) bound(e estimate, answer int64) *bound {
	b := &bound{admission: a, e: e, answer: answer}
	if a.service.config.Prices == nil {
		return b
	}
	b.priced = true
	text, _ := a.req.message().(*genwayv1.GenerateTextRequest)
	b.speed, b.geo = wordOf(text, "speed"), wordOf(text, "inference_geo")
	if planner, ok := a.service.config.Upstream.(Planner); ok {
		planner.Candidates(a.record.Caller.Protocol, a.record.AskedModel, a.req.message(), b.add)
		return b
	}
	c := upstream.Candidate{Model: a.record.AskedModel, ServiceTier: text.GetServiceTier(), Answers: e.answers, MaxOutput: -1, Cuts: e.open}
	if text != nil && !e.open {
		c.MaxOutput = text.GetMaxOutputTokens()
	}
	b.add(c)
	return b
}

// wordOf returns the text of a member that the contract has no field for. That of extra_json replaces others.
func wordOf(text *genwayv1.GenerateTextRequest, name string) string {
	var value member.Raw
	for _, f := range text.GetNativeFields() {
		if f.GetName() == name {
			value = f.GetJson()
		}
	}
	if extra := text.GetExtraJson(); extra != "" {
		if own := member.Value([]byte(extra), name); own != nil {
			value = own
		}
	}
	return value.String()
}

// add takes one more upstream into account.
func (b *bound) add(c upstream.Candidate) {
	terms := ledger.NewTerms(c.ServiceTier, b.speed, b.geo)
	p, exact, _ := b.service.priceOf(price.Query{Upstream: c.Upstream, Models: []string{c.Model, b.record.AskedModel}, Terms: terms, At: b.record.Start})
	if b.priced && !exact {
		b.priced, b.terms = false, terms
	}
	least, most, beside := b.e.output, b.e.output, int64(0)
	switch answers := max(c.Answers, 1); {
	case !b.e.weighs: // of an answer that flows
	case b.e.images > 0:
		least = amount.Times(answers, drawnTokens)
		most, beside = least, p.MaxImages(answers)
	default:
		longest := c.MaxOutput
		if longest < 0 {
			longest = max(unknownOutput, b.Rules().OutputTokens)
		}
		b.longest, b.answers = max(b.longest, longest), max(b.answers, answers)
		least, most = amount.Times(longest, answers), amount.Times(longest, answers)
		if c.Cuts {
			least = amount.Times(min(b.answer, longest), answers)
		}
		if len(p.PerCall) > 0 {
			beside = b.hosted().cost(p)
		}
	}
	b.output = max(b.output, most)
	b.least = max(b.least, amount.Sum(p.Most(b.e.input, least), beside))
	b.most = max(b.most, amount.Sum(p.Most(b.e.input, most), beside))
}
