package core

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/ledger"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/telemetry/flight"
	"github.com/genway/genway/telemetry/instrument"
	"github.com/genway/genway/telemetry/tracing"
	"github.com/genway/genway/telemetry/wideline"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
)

// carried reads the trace context and baggage of a call.
func carried(ctx context.Context) tracing.Carried {
	parents, states := transport.Incoming(ctx, tracing.ParentKey), []string(nil)
	if len(parents) > 0 {
		states = transport.Incoming(ctx, tracing.StateKey)
	}
	return tracing.Parse(parents, states, transport.Incoming(ctx, tracing.BaggageKey))
}

// record counts a request that was admitted, at its end: by the figures of the ledger's
// entry, of which answered is what the last attempt used, without those that failed before.
func (s *Service) record(record *call.Record, protocol string, answered ledger.Usage, r ledger.Result) {
	record.Outcome, record.Cost, record.Unpriced = string(r.Outcome), r.Cost, r.IsUnpriced()
	attempts := record.Attempts
	if n := len(attempts); n > 0 && attempts[n-1].Counts == (instrument.Counts{}) {
		attempts[n-1].Counts = countsOf(answered)
	}
	m := s.config.Metrics
	if m == nil {
		return
	}
	m.Settled(record.Span.SpanContext, instrument.Settlement{
		Protocol: protocol, Route: r.Route, Upstream: r.Upstream, Outcome: string(r.Outcome), Kind: r.Kind, Source: string(r.UsageSource),
		Duration: r.Duration, Own: record.Own(r.Duration), Admission: record.Admission, Calls: r.Attempts, Counts: countsOf(r.Usage), Cost: r.Cost,
	})
	for i := range attempts {
		a := &attempts[i]
		m.Attempted(a.Span.SpanContext, instrument.Attempt{Inference: a.Inference, Kind: a.Kind, Duration: a.End.Sub(a.Begin), Counts: a.Counts, Followed: i < len(attempts)-1})
	}
	for _, member := range record.Losses {
		m.Lost(member)
	}
	for reason, n := range record.Mismatches {
		m.Mismatched(reason, n)
	}
}

func countsOf(u ledger.Usage) instrument.Counts {
	return instrument.Counts{
		Input: u.Input, InputImage: u.InputImage, InputAudio: u.InputAudio, Output: u.Output, OutputImage: u.OutputImage, OutputAudio: u.OutputAudio,
		CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Thinking,
	}
}

// finish reports a call that is over: its line in the log, its spans and its metrics.
func (i Interceptors) finish(ctx context.Context, record *call.Record, err error) {
	if open(record.Method) {
		return
	}
	end := time.Now()
	if !record.Shed {
		logCall(ctx, i.logger(), record, end, err)
	}
	code := codeName(err)
	i.Metrics.ServedRPC(record.Span.SpanContext, method(record.Method), code, end.Sub(record.Start))
	if err != nil && record.Outcome == "" {
		f := fault.From(err)
		i.Metrics.Refused(protocolName(record.Caller.Protocol), fault.Name(f.Kind))
		if strings.HasPrefix(record.Method, generation) || record.Method == edgev1.Access_CheckAccess_FullMethodName {
			i.Refused.Add(record, f)
		}
		if f.Reason == auth.ReasonKeysUnavailable {
			i.Metrics.StoreFailed("keys")
		}
	}
	if i.Tracer.Keeps(record.Span, err != nil, end.Sub(record.Start)) {
		i.export(record, end, code, err)
	}
}

// list lists a call as being in flight; what it returns ends that.
func (i Interceptors) list(record *call.Record) (end func()) {
	e := flight.Entry{RequestID: record.ID, Side: "core", Protocol: protocolName(record.Caller.Protocol), What: method(record.Method), KeyID: record.Caller.KeyID, Begun: record.Start}
	e.TraceID = record.TraceID()
	return i.Board.Begin(e)
}

// method returns the name of a method as metrics and spans have it: genway.v1.Generation/NAME.
// One that the contract does not have is _OTHER, as the conventions demand: a call is
// refused by its headers before anybody knows whether its method exists.
func method(full string) string {
	if name := strings.TrimPrefix(full, "/"); methods[name] {
		return name
	}
	return "_OTHER"
}

// methods are the contract's.
var methods = func() map[string]bool {
	names := map[string]bool{}
	for _, service := range []grpc.ServiceDesc{genwayv1.Generation_ServiceDesc, edgev1.Access_ServiceDesc, adminv1.Admin_ServiceDesc} {
		for _, m := range service.Methods {
			names[service.ServiceName+"/"+m.MethodName] = true
		}
		for _, m := range service.Streams {
			names[service.ServiceName+"/"+m.StreamName] = true
		}
	}
	return names
}()

// export makes the spans of a call: its own, and one for each attempt.
func (i Interceptors) export(record *call.Record, end time.Time, code string, err error) {
	failure := ""
	if err != nil {
		failure = fault.Name(fault.From(err).Kind)
	}
	text, number := attribute.String, attribute.Int64
	attributes := []attribute.KeyValue{
		text("genway.request_id", record.ID), text("rpc.system.name", "grpc"), text("rpc.method", method(record.Method)), text("rpc.response.status_code", code),
		text("genway.protocol", protocolName(record.Caller.Protocol)), text("genway.key_id", record.Caller.KeyID), text("genway.route", record.Route),
		text("genway.upstream", record.Upstream), number("genway.attempts", record.Calls),
		attribute.Float64("genway.own_seconds", record.Own(end.Sub(record.Start)).Seconds()), attribute.Float64("genway.admission_seconds", record.Admission.Seconds()),
	}
	var events []tracing.Event
	if record.Outcome != "" {
		attributes = append(attributes, text("genway.outcome", record.Outcome), number("genway.cost_nanodollars", record.Cost))
	}
	attempts := record.Attempts
	for n := range attempts {
		a := &attempts[n]
		if n > 0 {
			before := &attempts[n-1]
			events = append(events, tracing.Event{Name: "genway.fallback", At: a.Begin, Attributes: []attribute.KeyValue{
				text("genway.upstream", before.Upstream), text("error.type", before.Kind), text("genway.reason", before.Reason),
			}})
		}
		i.Tracer.Export(a.Span, i.attemptFacts(record, a))
	}
	if err != nil && record.FirstEvent > 0 {
		events = append(events, tracing.Event{Name: "genway.cut", At: end, Attributes: []attribute.KeyValue{text("error.type", failure)}})
	}
	i.Tracer.Export(record.Span, tracing.Facts{Name: method(record.Method), Kind: trace.SpanKindServer, Begin: record.Start, End: end, Attributes: attributes, Events: events, Failure: failure})
}

// attemptFacts is what the span of an attempt says, as semantic-conventions-genai has it
// (docs/gen-ai/client-inference.md, 2026-11-22).
func (i Interceptors) attemptFacts(record *call.Record, a *call.Attempt) tracing.Facts {
	text, number := attribute.String, attribute.Int64
	f := tracing.Facts{Name: a.Operation + " " + clipped(a.Inference.Model), Kind: trace.SpanKindClient, Begin: a.Begin, End: a.End, Failure: a.Kind}
	if f.End.IsZero() { // the attempt panicked
		f.End = time.Now()
	}
	f.Attributes = []attribute.KeyValue{
		text("genway.request_id", record.ID), text("gen_ai.operation.name", a.Operation), text("gen_ai.provider.name", a.Provider), text("gen_ai.request.model", clipped(a.Model)),
		text("genway.route", a.Route), text("genway.upstream", a.Upstream), number("genway.calls", a.Calls),
		attribute.Bool("gen_ai.request.stream", strings.HasPrefix(record.RPC(), "Stream")),
	}
	if a.Address != "" {
		f.Attributes = append(f.Attributes, text("server.address", a.Address), attribute.Int("server.port", a.Port))
	}
	if a.Status > 0 {
		f.Attributes = append(f.Attributes, attribute.Int("http.response.status_code", a.Status))
	}
	if a.Reason != "" {
		f.Attributes = append(f.Attributes, text("genway.reason", a.Reason))
	}
	if a.Kind == "" && record.Model != "" {
		f.Attributes = append(f.Attributes, text("gen_ai.response.model", clipped(record.Model)))
	}
	for _, count := range [...]struct {
		name string
		n    int64
	}{
		{"gen_ai.usage.input_tokens", a.Counts.Input}, {"gen_ai.usage.output_tokens", a.Counts.Output}, {"gen_ai.usage.cache_read.input_tokens", a.Counts.CacheRead},
		{"gen_ai.usage.cache_write.input_tokens", a.Counts.CacheWrite}, {"gen_ai.usage.reasoning.output_tokens", a.Counts.Reasoning},
	} {
		if count.n > 0 {
			f.Attributes = append(f.Attributes, number(count.name, count.n))
		}
	}
	if !a.First.IsZero() {
		f.Attributes = append(f.Attributes, attribute.Float64("gen_ai.response.time_to_first_chunk", a.First.Sub(a.Begin).Seconds()))
		f.Events = append(f.Events, tracing.Event{Name: "genway.first_token", At: a.First})
	}
	if !a.Released.IsZero() {
		f.Events = append(f.Events, tracing.Event{Name: "genway.hold_back_released", At: a.Released})
		if a.Kind != "" {
			f.Events = append(f.Events, tracing.Event{Name: "genway.cut", At: f.End, Attributes: []attribute.KeyValue{text("error.type", a.Kind), text("genway.reason", a.Reason)}})
		}
	}
	return f
}

// maxText bounds a text of a caller's or an upstream's in spans and logs, in bytes.
const maxText = 128

func clipped(s string) string {
	if len(s) > maxText {
		return strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

func (i Interceptors) logger() *slog.Logger {
	if i.Logger == nil {
		return slog.Default()
	}
	return i.Logger
}

// outcomeRefused is the outcome of a call that was not admitted; all others have that of the
// ledger.
const outcomeRefused = "refused"

// logCall writes the call's one line. Its fields are documented in docs/reference/telemetry.md: they
// keep their names. It never holds a prompt, an answer or a key.
func logCall(ctx context.Context, log *slog.Logger, r *call.Record, end time.Time, err error) {
	f := fault.From(err)
	if f != nil && r.Usage == nil {
		r.Usage = f.Usage
	}
	level, grave := slog.LevelInfo, f != nil && f.HTTPStatus() >= 500
	if grave {
		level = slog.LevelWarn
	}
	handler := log.Handler()
	if !handler.Enabled(ctx, level) {
		return
	}
	took := end.Sub(r.Start)
	line := wideline.New(handler, end, level, "call")
	line.Text("request_id", r.ID)
	line.Text("method", r.RPC())
	line.Text("protocol", protocolName(r.Caller.Protocol))
	line.Text("key", r.Caller.KeyID)
	line.Text("owner", r.Caller.Owner)
	line.Text("asked_model", clipped(r.AskedModel))
	line.Text("model", r.Model)
	line.Text("route", r.Route)
	line.Text("upstream", r.Upstream)
	line.Int("attempts", r.Calls)
	line.Text("outcome", outcomeOf(r, f))
	line.Text("status", codeName(err))
	line.Seconds("duration_seconds", took)
	line.Seconds("own_seconds", r.Own(took))
	line.Int("input_tokens", r.Usage.GetInputTokens())
	line.Int("output_tokens", r.Usage.GetOutputTokens())
	line.Int("cache_read_tokens", r.Usage.GetCacheReadInputTokens())
	line.Int("cache_write_tokens", r.Usage.GetCacheWriteInputTokens())
	line.Int("thinking_tokens", r.Usage.GetThinkingTokens())
	if r.Span.IsValid() {
		line.Text("trace_id", r.TraceID())
	}
	if n := len(r.Attempts); n > 0 {
		line.Text("upstream_protocol", r.Attempts[n-1].Provider)
		if n > 1 {
			line.Int("targets", int64(n))
			line.Text("fallback_reason", r.Attempts[n-2].Reason)
		}
	}
	if r.FirstEvent > 0 {
		line.Seconds("first_event_seconds", r.FirstEvent)
	}
	if r.Cost > 0 {
		line.Float("cost_dollars", float64(r.Cost)/1e9)
	}
	if members := lostMembers(r); members != "" {
		line.Text("losses", members)
	}
	if r.UsageSource != string(ledger.Reported) {
		line.Text("usage_source", r.UsageSource)
	}
	if r.UsageSource == string(ledger.Rejected) {
		line.Int("rejected_input_tokens", r.RejectedUsage.GetInputTokens())
		line.Int("rejected_output_tokens", r.RejectedUsage.GetOutputTokens())
	}
	if r.ClientID != "" {
		line.Text("client_request_id", r.ClientID)
	}
	if f != nil {
		line.Text("kind", fault.Name(f.Kind))
		line.Text("reason", f.Reason)
	}
	if grave && f.Cause != nil {
		line.Text("cause", f.Cause.Error())
	}
	line.Write(ctx)
}

// outcomeOf returns the outcome of a call that failed with f, or succeeded.
func outcomeOf(r *call.Record, f *fault.Error) string {
	switch {
	case r.Outcome != "":
		return r.Outcome
	case f != nil:
		return outcomeRefused
	}
	return string(ledger.OK)
}
