package otlp

import (
	"encoding/hex"
	"slices"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Await waits until what has come is enough.
func (r *Receiver) Await(tb testing.TB, what string, enough func(spans []*tracepb.Span, metrics map[string]bool) bool) {
	tb.Helper()
	deadline := time.NewTimer(3 * time.Minute)
	defer deadline.Stop()
	for {
		r.mu.Lock()
		done, changed := enough(r.spans, r.metrics), r.changed
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			tb.Fatalf("%s did not come; %d spans, metrics %v", what, len(r.spans), r.metrics)
		}
	}
}

// Trace waits for so many spans of a trace and returns them, by beginning.
func (r *Receiver) Trace(tb testing.TB, id string, n int) []*tracepb.Span {
	tb.Helper()
	var found []*tracepb.Span
	r.Await(tb, "the spans of "+id, func(spans []*tracepb.Span, _ map[string]bool) bool {
		found = nil
		for _, s := range spans {
			if hex.EncodeToString(s.GetTraceId()) == id {
				found = append(found, s)
			}
		}
		return len(found) >= n
	})
	slices.SortStableFunc(found, func(a, b *tracepb.Span) int {
		return int(int64(a.GetStartTimeUnixNano()) - int64(b.GetStartTimeUnixNano()))
	})
	return found
}

// Attribute returns an attribute of a span as text.
func Attribute(s *tracepb.Span, name string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == name {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// Event returns the event of a name; nil for none.
func Event(s *tracepb.Span, name string) *tracepb.Span_Event {
	for _, e := range s.GetEvents() {
		if e.GetName() == name {
			return e
		}
	}
	return nil
}
