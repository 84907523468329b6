package tracing_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/telemetry/tracing"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// parse reads headers that come once each; empty ones do not come.
func parse(parent, state, bag string) tracing.Carried {
	once := func(text string) []string {
		if text == "" {
			return nil
		}
		return []string{text}
	}
	return tracing.Parse(once(parent), once(state), once(bag))
}

// What is no traceparent of W3C is ignored, with all that came beside it.
func TestParse(t *testing.T) {
	good := parse(parent, "vendor=1", "user=7")
	if tracing.Parent(good.SpanContext) != parent || good.TraceState().String() != "vendor=1" || good.Baggage != "user=7" || !good.IsRemote() {
		t.Errorf("%+v", good)
	}
	for name, text := range map[string]string{
		"empty": "", "short": parent[:54], "upper case": strings.ToUpper(parent), "no trace": "00-" + strings.Repeat("0", 32) + parent[35:],
		"no span": parent[:36] + strings.Repeat("0", 16) + "-01", "no version": "ff" + parent[2:], "more of version 0": parent + "-x", "no dash behind a later version": "01" + parent[2:] + "x",
		"no hexadecimal": parent[:5] + "g" + parent[6:], "spaces": " " + parent, "a mebibyte": strings.Repeat("0", 1<<20), "NUL": "00-" + strings.Repeat("\x00", 52),
	} {
		if got := parse(text, "vendor=1", ""); got.IsValid() || got.TraceState().Len() > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if later := parse("01"+parent[2:]+"-more", "", ""); !later.IsValid() || tracing.Parent(later.SpanContext) != parent {
		t.Errorf("a later version: %+v", later)
	}
	for name, c := range map[string][2]string{
		"a malformed state": {"=", ""}, "a long state": {"a=" + strings.Repeat("b", 600), ""}, "malformed baggage": {"", "=,="}, "long baggage": {"", "a=" + strings.Repeat("b", 9000)},
	} {
		got := parse(parent, c[0], c[1])
		if !got.IsValid() || got.TraceState().Len() > 0 || got.Baggage != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Headers that come several times are one list, as RFC 9110 has it, but a traceparent is no list: two
// are none.
func TestParseRepeated(t *testing.T) {
	got := tracing.Parse([]string{parent}, []string{"a=1", "b=2"}, []string{"c=3", "d=4"})
	if state := got.TraceState().String(); state != "a=1,b=2" || got.Baggage != "c=3,d=4" {
		t.Errorf("the state is %q, the baggage %q", state, got.Baggage)
	}
	if got := tracing.Parse([]string{parent, parent}, []string{"a=1"}, []string{"c=3"}); got.IsValid() || got.TraceState().Len() > 0 || got.Baggage != "c=3" {
		t.Errorf("two traceparents: %+v", got)
	}
}

// Metadata of gRPC takes printable ASCII alone, so that what travels on is that. White space of W3C's
// grammar is a space or a tab; what Unicode has besides is none.
func TestBaggageIsPrintable(t *testing.T) {
	for bag, want := range map[string]string{
		"a=1,\tb=2 ; p": "a=1, b=2 ; p", "a=1\t2": "", "a=1,\u00a0b=2": "", "a=1,\u2028b=2": "", "a=1;p=é": "", "a=é": "", "a=%C3%A9": "a=%C3%A9", "a=\x7f": "", "a=1,\vb=2": "",
	} {
		if got := parse("", "", bag).Baggage; got != want {
			t.Errorf("%q became %q, want %q", bag, got, want)
		}
	}
}

// FuzzParse holds that what is parsed is written as it was read, but for what no version
// knows, and in printable ASCII.
func FuzzParse(f *testing.F) {
	f.Add(parent, "vendor=1", "user=7")
	f.Add("01"+parent[2:]+"-more", "", "a=1,\tb=2")
	f.Fuzz(func(t *testing.T, text, state, bag string) {
		c := parse(text, state, bag)
		if c.IsValid() && tracing.Parent(c.SpanContext)[3:52] != text[3:52] {
			t.Errorf("%q became %q", text, tracing.Parent(c.SpanContext))
		}
		c.Headers(func(name, value string) {
			if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%s: %q", name, value)
			}
		})
	})
}

// A request is exported that was sampled, by its caller or by the ratio, and of all others
// those that failed or were slow.
func TestKeeps(t *testing.T) {
	sampled := parse(parent, "", "")
	refused := parse(parent[:54]+"0", "", "")
	for name, c := range map[string]struct {
		sampler tracing.Sampler
		slow    time.Duration
		in      tracing.Carried
		failed  bool
		took    time.Duration
		want    bool
	}{
		"all":                            {sampler: tracing.Sampler{Ratio: 1}, want: true},
		"none":                           {},
		"the caller's yes":               {sampler: tracing.Sampler{Parent: true}, in: sampled, want: true},
		"the caller's no":                {sampler: tracing.Sampler{Parent: true, Ratio: 1}, in: refused},
		"a caller who is not asked":      {in: sampled},
		"a failure":                      {failed: true, want: true},
		"a failure, the caller's no":     {sampler: tracing.Sampler{Parent: true, Ratio: 1}, in: refused, failed: true, want: true},
		"a slow one":                     {slow: time.Second, took: time.Second, want: true},
		"one that is nearly slow":        {slow: time.Second, took: time.Second - 1},
		"one that takes long, no bound":  {took: math.MaxInt64},
		"one that takes long, below nil": {slow: -1, took: math.MaxInt64},
	} {
		tracer := tracing.New(tracing.Config{Tracer: noop.Tracer{}, Sampler: c.sampler, Slow: c.slow})
		if got := tracer.Keeps(tracer.Start(c.in), c.failed, c.took); got != c.want {
			t.Errorf("%s: kept %v", name, got)
		}
	}
}

// A ratio takes about so many of random traces, and decides alike for one trace anywhere.
func TestRatio(t *testing.T) {
	one := tracing.New(tracing.Config{Tracer: noop.Tracer{}, Sampler: tracing.Sampler{Parent: true, Ratio: 0.1}})
	other := tracing.New(tracing.Config{Tracer: noop.Tracer{}, Sampler: tracing.Sampler{Ratio: 0.1}})
	n := 0
	for range 10_000 {
		span := one.Start(tracing.Carried{})
		if span.IsSampled() {
			n++
		}
		if next := other.Start(tracing.Carried{SpanContext: span.WithTraceFlags(0)}); next.IsSampled() != span.IsSampled() || next.TraceID() != span.TraceID() {
			t.Fatal("two programs decide differently for one trace")
		}
	}
	if n < 800 || n > 1200 {
		t.Errorf("%d of 10,000 are sampled", n)
	}
}

// The text of a trace is its identifier's, in each span of it, and a span's traceparent is of
// that span.
func TestTexts(t *testing.T) {
	tracer := tracing.New(tracing.Config{Tracer: noop.Tracer{}})
	for name, in := range map[string]tracing.Carried{"none": {}, "a caller's": parse(parent, "", ""), "of a later version": parse("01"+parent[2:]+"-more", "", "")} {
		span := tracer.Start(in)
		for _, s := range []tracing.Span{span, tracer.Child(span), tracer.Start(span.Carried), tracer.Child(tracer.Start(span.Carried))} {
			if s.TraceText() != s.TraceID().String() || in.IsValid() && s.TraceText() != in.TraceText() {
				t.Errorf("%s: the text of %s is %q", name, s.TraceID(), s.TraceText())
			}
			s.Headers(func(header, value string) {
				if header == tracing.ParentKey && value != tracing.Parent(s.SpanContext) {
					t.Errorf("%s: the traceparent is %s, want %s", name, value, tracing.Parent(s.SpanContext))
				}
			})
		}
	}
	if text := (tracing.Carried{}).TraceText(); text != "" {
		t.Errorf("the text of no trace is %q", text)
	}
	if c := (tracing.Carried{SpanContext: parse(parent, "", "").SpanContext}); c.TraceText() != parent[3:35] {
		t.Errorf("the text of a context is %q", c.TraceText())
	}
}

// Without a tracer the context of the caller passes as it is, and a child is its parent.
func TestNoTracer(t *testing.T) {
	var none *tracing.Tracer
	in := parse(parent, "vendor=1", "user=7")
	span := none.Start(in)
	if child := none.Child(span); tracing.Parent(child.SpanContext) != parent || child.Baggage != "user=7" || none.Keeps(span, true, time.Hour) {
		t.Errorf("%+v", child)
	}
	if none.Start(tracing.Carried{}).IsValid() {
		t.Error("a span without a tracer")
	}
	if got := tracing.Parent(trace.SpanContext{}); got != "" {
		t.Errorf("the parent of no span is %q", got)
	}
}
