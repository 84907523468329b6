package tracing

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

// The names of the headers, which are those of the metadata of gRPC, too. In HTTP they are
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

// Carried is what travels with a request: where it stands in its trace, and the baggage of
// its caller. The zero value is a request without either.
type Carried struct {
	trace.SpanContext

	// Baggage is the caller's, as it stands in the header; empty for none.
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

// parentLength is that of a traceparent of version 00: 00-TRACE-SPAN-FLAGS.
const parentLength = 2 + 1 + 32 + 1 + 16 + 1 + 2

// traceBegin and traceEnd are where the trace's identifier stands in it.
const traceBegin, traceEnd = 3, 35

func parseParent(s string) (trace.SpanContext, bool) {
	if len(s) < parentLength || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return trace.SpanContext{}, false
	}
	// A later version may have more behind another dash; ff is no version.
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
