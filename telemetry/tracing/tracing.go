// Package tracing makes the spans of requests. A request keeps what its spans are made of
// (identifiers, times, a few words) and makes the spans when it is over, if they are to be
// exported: that was the decision at the beginning, or the request failed, was refused or
// was slow. A request whose spans are not exported costs only its identifiers, and nothing
// is kept of requests that are over: what waits for the exporter is bounded by its queue.
//
// Contexts travel as W3C Trace Context and Baggage demand (traceparent, tracestate,
// baggage). The package uses only the tracing API; package telemetry provides an SDK. It
// must not import an SDK or any package of core or gateway.
package tracing

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// The names of the headers, which are the names of the metadata of gRPC, too. In HTTP they are
// matched without regard to case.
const (
	ParentKey  = "traceparent"
	StateKey   = "tracestate"
	BaggageKey = "baggage"
)

// maxBaggage bounds the baggage that travels on, in bytes: what W3C Baggage demands at
// least. maxState bounds a tracestate, likewise.
const (
	maxBaggage = 8192
	maxState   = 512
)

// Carried is what travels with a request: its place in its trace, and the baggage of
// its caller. The zero value is a request without either.
type Carried struct {
	trace.SpanContext

	// Baggage is the caller's, as it is in the header; empty for none.
	Baggage string

	id     string // of the trace, as text; empty where it is not written yet
	parent string // the traceparent of this context, likewise
}

// TraceText is the identifier of the trace in hexadecimal, as logs have it; empty for none.
func (c Carried) TraceText() string {
	if c.id == "" && c.IsValid() {
		return c.TraceID().String()
	}
	return c.id
}

// Parse reads what travels with a request from the values of its headers, in their order. A
// traceparent that is not W3C's, or that comes twice, is ignored, as the standard demands, and so are
// a tracestate or a baggage that are too long or malformed. What is left is printable ASCII, as
// metadata of gRPC must be.
func Parse(parents, states, bags []string) Carried {
	var c Carried
	if len(parents) == 1 {
		parent := parents[0]
		if sc, ok := parseParent(parent); ok {
			c.SpanContext, c.id = sc.WithTraceState(parseState(states)), parent[traceBegin:traceEnd]
		}
	}
	if len(bags) > 0 {
		c.Baggage = parseBaggage(strings.Join(bags, ","))
	}
	return c
}

// parseState returns the state of several headers, which are one list; empty for none.
func parseState(states []string) trace.TraceState {
	state := strings.Join(states, ",")
	if state == "" || len(state) > maxState {
		return trace.TraceState{}
	}
	parsed, err := trace.ParseTraceState(state)
	if err != nil {
		return trace.TraceState{}
	}
	return parsed
}

// parseBaggage returns a baggage as it travels on, with spaces for tabs; empty for none. The library
// takes Unicode's white space for the spaces and tabs of the standard.
func parseBaggage(bag string) string {
	if bag == "" || len(bag) > maxBaggage {
		return ""
	}
	bag = strings.ReplaceAll(bag, "\t", " ")
	for i := range len(bag) {
		if bag[i] < ' ' || bag[i] > '~' {
			return ""
		}
	}
	if _, err := baggage.Parse(bag); err != nil {
		return ""
	}
	return bag
}

// parentLength is the length of a traceparent of version 00: 00-TRACE-SPAN-FLAGS.
const parentLength = 2 + 1 + 32 + 1 + 16 + 1 + 2

// traceBegin and traceEnd are where the trace's identifier is in it.
const traceBegin, traceEnd = 3, 35

func parseParent(s string) (trace.SpanContext, bool) {
	if len(s) < parentLength || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return trace.SpanContext{}, false
	}
	// A later version may have more after another dash; ff is no version.
	if s[:2] == "ff" || len(s) > parentLength && (s[:2] == "00" || s[parentLength] != '-') {
		return trace.SpanContext{}, false
	}
	var config trace.SpanContextConfig
	var version, flags [1]byte
	if !decode(version[:], s[:2]) || !decode(config.TraceID[:], s[3:35]) || !decode(config.SpanID[:], s[36:52]) || !decode(flags[:], s[53:55]) {
		return trace.SpanContext{}, false
	}
	config.TraceFlags, config.Remote = trace.TraceFlags(flags[0])&(trace.FlagsSampled|trace.FlagsRandom), true
	sc := trace.NewSpanContext(config)
	return sc, sc.IsValid()
}

// decode reads hexadecimal digits in lower case, the only ones that the standard allows. It
// reports false for any other text. s is twice as long as to.
func decode(to []byte, s string) bool {
	for i := range to {
		high, low := digits[s[2*i]], digits[s[2*i+1]]
		if high|low > 0xf {
			return false
		}
		to[i] = high<<4 | low
	}
	return true
}

// digits are the values of the hexadecimal digits, and 0xff for any other byte.
var digits = func() (all [256]byte) {
	for i := range all {
		all[i] = 0xff
	}
	for i, c := range []byte("0123456789abcdef") {
		all[c] = byte(i)
	}
	return all
}()

// Parent is the traceparent of a context; empty for one that is not valid.
func Parent(sc trace.SpanContext) string {
	if !sc.IsValid() {
		return ""
	}
	var b [parentLength]byte
	id, span := sc.TraceID(), sc.SpanID()
	copy(b[:], "00-")
	hex.Encode(b[3:35], id[:])
	b[35] = '-'
	hex.Encode(b[36:52], span[:])
	b[52], b[53] = '-', '0'
	b[54] = "0123456789abcdef"[byte(sc.TraceFlags())&0xf]
	return string(b[:])
}

// Headers are those that a call takes along, as name and value in turn; none are empty.
// yield is called for each.
func (c Carried) Headers(yield func(name, value string)) {
	if c.IsValid() {
		parent := c.parent
		if parent == "" {
			parent = Parent(c.SpanContext)
		}
		yield(ParentKey, parent)
		if c.TraceState().Len() > 0 {
			yield(StateKey, c.TraceState().String())
		}
	}
	if c.Baggage != "" {
		yield(BaggageKey, c.Baggage)
	}
}

// newSpanID returns 64 random bits that are not all 0. They identify spans and are no
// secret.
func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64()) //nolint:gosec // see above
	}
	return id
}

func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64()) //nolint:gosec // see newSpanID
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // see newSpanID
	}
	return id
}

// Tracer makes spans. A nil Tracer makes none, and lets what travels with a request pass
// as it is.
type Tracer struct {
	tracer  trace.Tracer
	sampler Sampler
	slow    time.Duration
}

// Config configures a Tracer.
type Config struct {
	// Tracer comes from a provider whose sampler records all spans, and whose identifiers come
	// from IDs. Required.
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

// Sampler decides at the beginning of a request whether its spans are exported. The zero
// value exports none.
type Sampler struct {
	// Parent has the decision of the caller hold where there is one.
	Parent bool
	// Ratio is the part of the requests that are exported, 0 to 1, of those without a
	// decision of the caller's.
	Ratio float64
}

// SamplerOf reads the values of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. Empty is
// parentbased_always_on, OpenTelemetry's default.
func SamplerOf(name, argument string) (Sampler, error) {
	known := map[string]Sampler{
		"": {true, 1}, "always_on": {false, 1}, "always_off": {false, 0}, "parentbased_always_on": {true, 1}, "parentbased_always_off": {true, 0},
		"traceidratio": {false, 1}, "parentbased_traceidratio": {true, 1},
	}
	s, ok := known[name]
	if !ok {
		return Sampler{}, fmt.Errorf("OTEL_TRACES_SAMPLER: %q is not supported; use always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or parentbased_traceidratio", name)
	}
	if name != "traceidratio" && name != "parentbased_traceidratio" || argument == "" {
		return s, nil
	}
	ratio, err := strconv.ParseFloat(argument, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return Sampler{}, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1, got %q", argument)
	}
	s.Ratio = ratio
	return s, nil
}

// sampled decides for a request of a trace. The ratio goes by the trace's identifier, as in
// OpenTelemetry's TraceIdRatioBased: all programs on the way decide alike.
func (s Sampler) sampled(parent trace.SpanContext, id trace.TraceID) bool {
	switch {
	case s.Parent && parent.IsValid():
		return parent.IsSampled()
	case s.Ratio >= 1:
		return true
	case s.Ratio <= 0:
		return false
	}
	return binary.BigEndian.Uint64(id[8:])>>1 < uint64(s.Ratio*(1<<63)) && !math.IsNaN(s.Ratio)
}
