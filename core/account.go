package core

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/protocol"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// account runs a request from its admission to its settlement, which happens once
// however do ends: by a panic too. What is not admitted leaves nothing; nothing is done
// for a request that cannot be recorded.
func (s *Service) account(ctx context.Context, a ask, do func(context.Context) error) (err error) {
	ctx, call := s.outcome(ctx, a.method)
	caller := auth.CallerOf(ctx)
	priority, protocol := priorityOf(caller), protocolName(caller.Protocol)
	s.config.Metrics.Begun(protocol)
	defer s.config.Metrics.Ended(protocol)
	begun := time.Now()
	if err := s.full(caller, a, priority); err != nil {
		return err
	}
	held, err := s.admit(ctx, call, a)
	if err != nil {
		return err
	}
	record, err := s.config.Ledger.Open(ctx, ledger.Request{
		ID: call.id, KeyID: caller.KeyID, Owner: caller.Owner, Protocol: protocolName(caller.Protocol), Method: a.method, Model: a.model, Start: call.start, TraceID: call.traceID(),
	})
	if err != nil {
		held.Settle(limit.Amount{})
		return unrecorded(ctx, err)
	}
	call.admission, call.admitted = time.Since(begun), time.Since(call.start)
	returned := false
	defer func() {
		if !returned { // do panics
			err = fault.New(fault.Internal, fault.ReasonPanic, "%s", fault.InternalMessage)
		}
		result := call.result(ctx, err)
		s.meter(call, a, &result)
		s.charge(call, a.model, &result)
		answered := result.Usage
		s.addSpent(call, a.model, &result)
		// The limits first: so they never know less than the ledger.
		held.settle(result)
		call.recount(a.model, &result)
		record.Settle(result)
		s.record(ctx, call, protocol, answered, result)
	}()
	ctx = overload.WithPriority(upstream.WithNote(ctx, &call.served), priority)
	if caller.Policy != nil && caller.Policy.Strict {
		ctx = upstream.WithStrict(ctx)
	}
	call.held = held
	err = do(ctx)
	returned = true
	if err == nil && call.served.Gone {
		err = upstream.Interrupted(ctx)
	}
	return err
}

// visit runs a call that neither generates nor counts: it is admitted as any other, but
// is no entry of the ledger.
func (s *Service) visit(ctx context.Context, method string, do func(*keys.Policy) error) error {
	ctx, call := s.outcome(ctx, method)
	held, err := s.admit(ctx, call, ask{method: method})
	if err != nil {
		return err
	}
	defer held.Settle(limit.Amount{})
	return do(auth.CallerOf(ctx).Policy)
}

// outcome gives the outcome of a call, which calls that came past the interceptors lack.
func (s *Service) outcome(ctx context.Context, method string) (context.Context, *outcome) {
	if call, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		return ctx, call
	}
	call := newOutcome("", method)
	return withOutcome(ctx, call), call
}

// unrecorded is what a caller is told whose request the ledger does not take.
func unrecorded(ctx context.Context, err error) error {
	if !errors.Is(err, ledger.ErrBusy) {
		return upstream.Interrupted(ctx)
	}
	f := fault.Wrap(err, fault.Unavailable, ledger.ReasonRefused, "the request cannot be recorded at the moment; try again")
	f.RetryAfter = time.Second
	return f
}

// result is the outcome as the ledger keeps it.
func (o *outcome) result(ctx context.Context, err error) ledger.Result {
	o.model = cmp.Or(o.model, o.served.Answered)
	r := ledger.Result{
		Outcome: ledger.OK, Route: o.served.Route, Upstream: o.served.Name, Attempts: o.served.Calls, Model: o.model,
		Duration: time.Since(o.start), FirstEvent: o.first,
	}
	if err != nil {
		f := fault.From(err)
		r.Outcome, r.Kind, r.Reason = ledger.Failed, fault.Name(f.Kind), f.Reason
		if f.Usage != nil {
			o.usage = f.Usage
		}
		if f.Kind == fault.Cancelled || gone(ctx, err) {
			r.Outcome, r.Kind, r.Reason = ledger.Cancelled, fault.Name(fault.Cancelled), upstream.ReasonCancelled
		}
	}
	if o.usage == nil {
		o.usage = o.served.Usage
	}
	r.Usage = usageOf(o.usage)
	r.Usage.Images = int64(o.drawn.images)
	return r
}

// gone reports whether a call failed because its caller is no longer there: the
// context says so, or the transport when it is sent to.
func gone(ctx context.Context, err error) bool {
	return errors.Is(ctx.Err(), context.Canceled) || foreign(err) && status.Code(err) == codes.Canceled
}

// usageOf gives the contract's figures as the ledger keeps them.
func usageOf(u *genwayv1.Usage) ledger.Usage {
	return ledger.Usage{
		Input:        u.GetInputTokens(),
		Output:       u.GetOutputTokens(),
		CacheRead:    u.GetCacheReadInputTokens(),
		CacheWrite:   u.GetCacheWriteInputTokens(),
		CacheWrite1h: u.GetCacheWrite_1HInputTokens(),
		InputImage:   u.GetInputImageTokens(),
		InputAudio:   u.GetInputAudioTokens(),
		Thinking:     u.GetThinkingTokens(),
		OutputImage:  u.GetOutputImageTokens(),
		OutputAudio:  u.GetOutputAudioTokens(),
	}
}

// protocolName is a protocol as the ledger spells it, and edges do.
func protocolName(p genwayv1.Protocol) string { return protocol.Of(p).Name }
