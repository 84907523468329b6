package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Tracer makes spans. A nil Tracer makes none, and lets what travels with a request pass
// as it is.
type Tracer struct {
	tracer  trace.Tracer
	sampler Sampler
	slow    time.Duration
}

// Config is what a Tracer is made of.
type Config struct {
	// Tracer is of a provider whose sampler records all spans, and whose identifiers are
	// those of IDs. Required.
	Tracer trace.Tracer
	// Sampler decides at the beginning of a request.
	Sampler Sampler
	// Slow is how long a request takes at least that is exported whatever the sampler decided;
	// 0 or less is none.
	Slow time.Duration
}

// New makes a tracer.
func New(config Config) *Tracer {
	return &Tracer{tracer: config.Tracer, sampler: config.Sampler, slow: config.Slow}
}

// Span is one span of a request in the making.
type Span struct {
	// Carried is what the calls that the span makes take along: the span is their parent.
	Carried

	parent trace.SpanID // of the same trace; 0 for none
}

// Start begins a span of a request that brings what in has. Without a tracer the span is
// the caller's.
func (t *Tracer) Start(in Carried) Span {
	if t == nil {
		return Span{Carried: in}
	}
	id := in.TraceID()
	if !in.IsValid() {
		id = newTraceID()
	}
	var flags trace.TraceFlags
	if t.sampler.sampled(in.SpanContext, id) {
		flags = trace.FlagsSampled
	}
	s := Span{
		Carried: Carried{
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: newSpanID(), TraceFlags: flags, TraceState: in.TraceState()}),
			Baggage:     in.Baggage, id: in.id,
		},
		parent: in.SpanID(),
	}
	if s.id == "" { // one text for the call that follows and for the log
		s.Carried.parent = Parent(s.SpanContext)
		s.id = s.Carried.parent[traceBegin:traceEnd]
	}
	return s
}

// Child begins a span below s.
func (t *Tracer) Child(s Span) Span {
	if t == nil || !s.IsValid() {
		return s
	}
	return Span{Carried: Carried{SpanContext: s.WithSpanID(newSpanID()), Baggage: s.Baggage, id: s.id}, parent: s.SpanID()}
}

// Keeps reports whether the spans of a request are exported, which is over: it was sampled,
// or it failed, or took long.
func (t *Tracer) Keeps(s Span, failed bool, took time.Duration) bool {
	return t != nil && s.IsValid() && (failed || s.IsSampled() || t.slow > 0 && took >= t.slow)
}

// Event is something that happened within a span.
type Event struct {
	Name       string
	At         time.Time
	Attributes []attribute.KeyValue
}

// Facts are what a span says.
type Facts struct {
	Name       string
	Kind       trace.SpanKind
	Begin, End time.Time
	Attributes []attribute.KeyValue
	Events     []Event
	// Failure is the word for why it failed (error.type); empty for success.
	Failure string
}

// Export makes the span and hands it to the exporter. The caller has asked Keeps.
func (t *Tracer) Export(s Span, f Facts) {
	ctx := withID(context.Background(), s.SpanContext)
	if s.parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, s.WithSpanID(s.parent))
	}
	attributes := f.Attributes
	if f.Failure != "" {
		attributes = append(attributes, attribute.String("error.type", f.Failure))
	}
	_, span := t.tracer.Start(ctx, f.Name, trace.WithSpanKind(f.Kind), trace.WithTimestamp(f.Begin))
	span.SetAttributes(attributes...) // WithAttributes would copy them once more, for samplers
	for _, e := range f.Events {
		span.AddEvent(e.Name, trace.WithTimestamp(e.At), trace.WithAttributes(e.Attributes...))
	}
	if f.Failure != "" {
		span.SetStatus(codes.Error, f.Failure)
	}
	span.End(trace.WithTimestamp(f.End))
}

type idKey struct{}

func withID(ctx context.Context, sc trace.SpanContext) context.Context {
	return context.WithValue(ctx, idKey{}, sc)
}

// IDs returns the identifiers of the span that a context of Export is for, to the SDK's
// generator of identifiers.
func IDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	sc, _ := ctx.Value(idKey{}).(trace.SpanContext)
	return sc.TraceID(), sc.SpanID()
}
