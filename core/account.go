package core

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
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
// recorded is refused. req is what inputOf takes.
func (s *Service) account(ctx context.Context, record *call.Record, req any, do func(context.Context, *admission) error) (err error) {
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

// tail sends the events of a stream. It holds the end of the answer back until the request is concluded:
// a caller that has seen the end finds the request in the ledger, whatever happens to this process.
type tail[E any] struct {
	*admission

	send func(*E) error
	// held is the end so far, and seen the flow by then.
	held []*E
	seen int
	// left means that an event could not be sent.
	left bool
}

// add sends an event. ends means that it belongs to the end of the answer, as far as is known, completes
// that it is the last.
func (t *tail[E]) add(ctx context.Context, ev *E, ends, completes bool) error {
	ends = ends || completes
	if !ends || t.flow > t.seen { // the answer goes on after what was held
		if err := t.flush(); err != nil {
			return err
		}
	}
	if !ends {
		err := t.send(ev)
		t.left = t.left || err != nil
		return err
	}
	if t.held, t.seen = append(t.held, ev), t.flow; !completes {
		return nil
	}
	if !t.left && ctx.Err() == nil { // else it is not known yet whether the answer is read to its end
		t.conclude(ctx, nil)
	}
	return t.flush()
}

// end sends the beginning of an end that has not come. err is what became of the request.
func (t *tail[E]) end(ctx context.Context, err error) {
	if len(t.held) > 0 {
		t.conclude(ctx, err)
		_ = t.flush() // the request has failed already
	}
}

func (t *tail[E]) flush() error {
	held := t.held
	t.held = nil
	for _, ev := range held {
		if err := t.send(ev); err != nil {
			t.left = true
			return err
		}
	}
	return nil
}

// visit runs a call that neither generates nor counts: it is admitted as any other, but
// is no entry of the ledger.
func (s *Service) visit(ctx context.Context, method string, do func(*keys.Policy) error) error {
	ctx, record := begin(ctx, method, "")
	held, err := s.admit(ctx, record, nil)
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
	result.Usage.Images = int64(a.drawn.images)
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
			Calls: a.Calls, Status: a.Status, Kind: a.Kind, Reason: a.Reason,
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
		switch req, text := a.req.(*deferred.Request); {
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
// route asks for it; else it returns nil. req is what inputOf takes.
func (s *Service) capture(caller call.Caller, model string, req any) *capture.Capture {
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
	if text, ok := req.(*deferred.Request); ok {
		req = text.Head()
	}
	if sent, ok := req.(interface{ GetWire() *genwayv1.WireMessage }); ok && sent.GetWire() != nil {
		c.Add(capture.CallerRequest, protocolName(caller.Protocol), sent.GetWire().GetJson())
	} else if message, ok := req.(proto.Message); ok {
		c.Message(capture.ContractRequest, "", message)
	}
	return c
}

const (
	// maxSample bounds the text of a stream that is kept to count it, in bytes.
	maxSample = 4 << 10
	// textBytesPerToken is what a token of text is on average: English has four or five bytes
	// a token, code and other scripts three.
	textBytesPerToken = 4
)

// sample is what was seen of a streamed answer on its way to its caller, to count its tokens by.
type sample struct {
	// text is the bytes of its text, of which first has the first.
	text  int64
	first []byte
	// frames is what frameFlow makes of frames that pass through.
	frames int64
}

// add adds an event, and returns the output in it, in bytes: bytesPerToken of them are a token.
func (s *sample) add(ev *genwayv1.StreamGenerateTextResponse) int {
	if frame := ev.GetWire(); frame != nil {
		flow := frameFlow(frame)
		s.frames += int64(flow)
		return flow
	}
	text := wordsOf(ev)
	if text == "" {
		return 0
	}
	s.text += int64(len(text))
	if room := maxSample - len(s.first); room > 0 {
		if s.first == nil {
			s.first = make([]byte, 0, maxSample/4)
		}
		s.first = append(s.first, text[:min(room, len(text))]...)
	}
	return len(text)
}

// frameFlow guesses the output in a frame that passes through, or in a batch of them.
func frameFlow(frame *genwayv1.WireFrame) int {
	if batch := frame.GetBatch(); batch != nil {
		events := int(batch.GetCount())
		return events*frameTokens*bytesPerToken + max(len(batch.GetEvents())-events*frameBytes, 0)
	}
	return frameTokens*bytesPerToken + max(len(frame.GetData())-frameBytes, 0)
}

// tokens counts what was seen: the text that was kept exactly, and the rest in proportion.
// flow is the bytes of text in frames that pass through; nil if they are not counted.
func (s *sample) tokens(flow *atomic.Int64) int64 {
	of := int64(0)
	if len(s.first) > 0 {
		high, low := bits.Mul64(uint64(tokens.Count(string(s.first))), uint64(s.text))
		quotient, _ := bits.Div64(high, low, uint64(len(s.first)))
		of = int64(quotient)
	}
	frames := s.frames / bytesPerToken
	if flow != nil {
		frames = (flow.Load() + textBytesPerToken - 1) / textBytesPerToken
	}
	return amount.Sum(of, frames)
}

// wordsOf returns the text of an answer in one event of its stream: what tokens are made of.
// Several texts of an event are one. Frames that are passed through have none.
func wordsOf(ev *genwayv1.StreamGenerateTextResponse) string {
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		part := p.PartStarted.GetPart()
		switch k := part.GetKind().(type) {
		case *genwayv1.Part_Text:
			return k.Text.GetText()
		case *genwayv1.Part_Thinking:
			return k.Thinking.GetText()
		case *genwayv1.Part_Refusal:
			return k.Refusal.GetText()
		case *genwayv1.Part_ToolCall:
			return k.ToolCall.GetName() + k.ToolCall.GetArgumentsJson() + k.ToolCall.GetInput()
		}
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		return codec.DeltaText(p.PartDelta)
	}
	return ""
}
