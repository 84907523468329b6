package core

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// begin returns the record of a call that names a model, and a context that carries it. Calls that
// came past the interceptors have no record yet.
func begin(ctx context.Context, method, model string) (context.Context, *call.Record) {
	ctx, record := call.Ensure(ctx)
	record.Method, record.AskedModel = cmp.Or(record.Method, method), keys.RedactIn(model) // it is in logs, rows and spans
	return ctx, record
}

// account runs a request from its admission to its settlement. Settlement happens exactly once,
// even if do panics. A request that is not admitted leaves nothing, and a request that cannot be
// recorded is refused.
func (s *Service) account(ctx context.Context, record *call.Record, req request, do func(context.Context, *admission) error) (err error) {
	caller := record.Caller
	priority, protocol := priorityOf(caller), protocolName(caller.Protocol)
	defer s.config.Metrics.Begun(protocol).Ended()
	start := time.Now()
	if err := s.full(record, req, priority); err != nil {
		return err
	}
	held, err := s.admit(ctx, record, req)
	if err != nil {
		return err
	}
	entry, err := s.config.Ledger.Open(ctx, ledger.Request{
		ID: record.ID, KeyID: caller.KeyID, Owner: caller.Owner, Protocol: protocol, Method: record.RPC(), Model: record.AskedModel, Start: record.Start, TraceID: record.TraceID(),
	})
	if err != nil {
		held.Settle(limit.Amount{})
		return unrecorded(ctx, err)
	}
	record.Admission, record.AdmittedAfter = time.Since(start), time.Since(record.Start)
	if s.config.Captures != nil && entry != nil {
		record.Capture = s.capture(caller, record.AskedModel, req)
	}
	held.entry = entry
	returned := false
	defer func() {
		if !returned { // do panics
			err = fault.New(fault.Internal, fault.ReasonPanic, "%s", fault.InternalMessage)
		}
		held.conclude(ctx, err)
		if record.Capture != nil {
			process, number := entry.ID()
			s.config.Captures.Keep(record.Capture, process, number, record.Caller.KeyID)
		}
	}()
	record.Priority, record.Admitted = priority, true
	record.Strict = record.Strict || caller.Policy != nil && caller.Policy.Strict
	err = do(ctx, held)
	returned = true
	if err == nil && record.CallerLeft {
		err = upstream.Interrupted(ctx)
	}
	return err
}

// conclude settles the limits of a request and closes its row, by what became of it. The first call
// counts.
func (a *admission) conclude(ctx context.Context, err error) {
	if a.concluded {
		return
	}
	a.concluded = true
	s, record := a.service, a.record
	if err == nil {
		record.EndAttempt(nil)
	}
	result := a.result(ctx, err)
	s.meter(a, &result)
	var own [1]ledger.Charge // that of the answer, which is the only one of nearly all requests
	charges := s.charges(own[:0], a, result.Model, result.Usage)
	result.Charge(charges)
	answered := result.Usage
	result.Charge(append(charges, s.spent(a, &result)...))
	// The limits are settled first, so that they never know less than the ledger.
	a.Settle(limit.Amount{Tokens: amount.Sum(result.Usage.Input, result.Usage.Output), Cost: result.Cost})
	recount(record, &result)
	a.entry.Settle(result)
	s.record(record, protocolName(record.Caller.Protocol), answered, result)
}

// visit runs a call that neither generates nor counts: it is admitted as any other, but
// is no entry of the ledger.
func (s *Service) visit(ctx context.Context, method string, do func(*keys.Policy) error) error {
	ctx, record := begin(ctx, method, "")
	held, err := s.admit(ctx, record, unweighed{})
	if err != nil {
		return err
	}
	defer held.Settle(limit.Amount{})
	return do(record.Caller.Policy)
}

// unrecorded is the error of a request that the ledger does not take.
func unrecorded(ctx context.Context, err error) error {
	if !errors.Is(err, ledger.ErrBusy) {
		return upstream.Interrupted(ctx)
	}
	f := fault.Wrap(err, fault.Unavailable, ledger.ReasonRefused, "the request cannot be recorded at the moment; try again")
	f.RetryAfter = time.Second
	return f
}

// result is what came of a call, as the ledger keeps it.
func (a *admission) result(ctx context.Context, err error) ledger.Result {
	r := a.record
	result := ledger.Result{
		Outcome: ledger.OK, Route: r.Route, Upstream: r.Upstream, Attempts: r.Calls,
		Duration: time.Since(r.Start), FirstEvent: r.FirstEvent,
	}
	if !a.complete && r.RawUsage != nil {
		r.Usage, a.reported = r.RawUsage, r.RawFinal
	}
	if err != nil {
		f := fault.From(err)
		result.Outcome, result.Kind, result.Reason = ledger.Failed, fault.Name(f.Kind), f.Reason
		if f.Usage != nil {
			r.Usage, a.reported = f.Usage, !a.complete && (r.RawUsage == nil || r.RawFinal)
		}
		if f.Kind == fault.Cancelled || callerLeft(ctx, err) {
			result.Outcome, result.Kind, result.Reason = ledger.Cancelled, fault.Name(fault.Cancelled), upstream.ReasonCancelled
		}
	}
	if r.Usage == nil {
		r.Usage = r.RawUsage
	}
	r.Model = cmp.Or(r.Usage.GetModel(), r.Model, r.RawModel)
	result.Model, a.usage = r.Model, r.Usage
	result.Usage = usageOf(r.Usage)
	result.Usage.Images = int64(max(a.drawn.images, r.Drawn)) // the upstream bills them even where the request fails
	return result
}

// answered records the model that answered and the usage that it reports, as far as known.
func answered(r *call.Record, model string, usage *genwayv1.Usage) {
	if model != "" {
		r.Model = model
	}
	if usage != nil {
		r.Usage = usage
	}
}

// begun records that a stream's first event is about to be sent.
func begun(r *call.Record) {
	if r.FirstEvent == 0 {
		r.FirstEvent = time.Since(r.Start)
	}
}

// callerLeft reports whether a call failed because its caller has left: the context says so, or
// the transport when the answer is sent.
func callerLeft(ctx context.Context, err error) bool {
	return errors.Is(ctx.Err(), context.Canceled) || foreign(err) && status.Code(err) == codes.Canceled
}

// usageOf returns the contract's figures as the ledger keeps them, without what is beside its totals.
func usageOf(u *genwayv1.Usage) ledger.Usage {
	used := ledger.Usage{
		Input:       u.GetInputTokens(),
		Output:      u.GetOutputTokens(),
		CacheRead:   u.GetCacheReadInputTokens(),
		CacheWrite:  u.GetCacheWriteInputTokens(),
		InputImage:  u.GetInputImageTokens(),
		InputAudio:  u.GetInputAudioTokens(),
		Thinking:    u.GetThinkingTokens(),
		OutputImage: u.GetOutputImageTokens(),
		OutputAudio: u.GetOutputAudioTokens(),
	}
	for _, w := range u.GetCacheWrites() {
		if k := kindOfTTL(w.GetTtl()); k != nil {
			*used.At(k) = amount.Sum(*used.At(k), w.GetTokens())
		}
	}
	return used
}

// protocolName is a protocol as the ledger spells it, and edges do.
func protocolName(p genwayv1.Protocol) string { return protocol.Of(p).Name }

// recount adds to the ledger's result what the request went through, and what it lost.
func recount(record *call.Record, r *ledger.Result) {
	attempts := record.Attempts
	if n := len(attempts); n > 0 {
		r.UpstreamProtocol = attempts[n-1].Protocol
	}
	r.Losses = lostMembers(record)
	since := func(at time.Time) time.Duration {
		if at.IsZero() {
			return 0
		}
		return max(at.Sub(record.Start), time.Microsecond)
	}
	var few [2]ledger.Attempt // on the stack
	t := ledger.Timeline{
		Admitted: record.AdmittedAfter, Settled: time.Since(record.Start), Attempts: few[:0],
		Limits: ledger.Stage(record.Limits), Route: ledger.Stage(record.Routing),
	}
	for i := range attempts[:min(len(attempts), ledger.MaxAttempts)] {
		a := &attempts[i]
		t.Attempts = append(t.Attempts, ledger.Attempt{
			Upstream: a.Upstream, Protocol: a.Protocol, Model: a.Model,
			Begin: since(a.Begin), Connected: since(a.Connected), Headers: since(a.Headers), FirstEvent: since(a.First), Released: since(a.Released), End: since(a.End),
			Calls: a.Calls, Status: a.Status, Kind: a.Kind, Reason: a.Reason, Message: a.Message,
		})
	}
	var room [256]byte
	r.Timeline = string(ledger.AppendTimeline(room[:0], &t, &ledger.Request{Model: record.AskedModel}, r))
}

// spent are what the failed calls of a request may cost that were followed by another, each by the prices of its
// own upstream: what the upstream reported, or else the request.
func (s *Service) spent(a *admission, r *ledger.Result) []ledger.Charge {
	var charges []ledger.Charge
	for _, spent := range a.record.Spent {
		usage := usageOf(spent.Usage)
		switch req, text := a.req.(textRequest); {
		case !plausible(spent.Usage):
			r.UsageSource = ledger.Rejected
			continue
		case spent.Usage != nil:
		case !text:
			continue
		default:
			usage = a.inputUsage(req)
			if r.UsageSource == ledger.Reported {
				r.UsageSource = ledger.Estimated
			}
		}
		call := answering{upstream: spent.Upstream, model: spent.Model, tier: spent.ServedTier, names: []string{spent.Model, a.record.AskedModel}}
		charges = s.charged(charges, a.record.Start, call, ledger.FailedAttempt, usage, spent.Usage)
	}
	return charges
}

// capture begins the capture of an admitted request, with the caller's body, if its key or its
// route asks for it; else it returns nil.
func (s *Service) capture(caller call.Caller, model string, req request) *capture.Capture {
	var ofKey, ofRoute *capture.Rule
	if caller.Policy != nil {
		ofKey = caller.Policy.Capture
	}
	if s.captures != nil {
		ofRoute = s.captures(caller.Protocol, model)
	}
	if ofKey == nil && ofRoute == nil {
		return nil
	}
	c := s.config.Captures.Begin(ofKey, ofRoute)
	if c == nil {
		return nil
	}
	message := req.message()
	if wire := message.GetWire(); wire != nil && images.FormType(wire.GetJson()) == "" {
		c.Add(capture.CallerRequest, protocolName(caller.Protocol), wire.GetJson())
	} else {
		c.Message(capture.ContractRequest, "", message)
	}
	return c
}
