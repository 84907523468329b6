package observability

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/genway/genway/test/conformance/otlp"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan  = "00f067aa0ba902b7"
	// startsTrace is that of the requests that wait for a start.
	startsTrace = "00000000000000000000000000000001"
)

// forms are the two forms of a gateway, on both stores.
func forms(t *testing.T, on bases, test func(t *testing.T, two bool, data string)) {
	t.Helper()
	t.Run("one process on SQLite", func(t *testing.T) { test(t, false, t.TempDir()) })
	t.Run("two processes on PostgreSQL", func(t *testing.T) { test(t, true, on.postgres().Database(t)) })
}

// allForms are one process and two, each on both stores; postgres is the server of data, if it
// is of one.
func allForms(t *testing.T, on bases, test func(t *testing.T, two bool, data string, postgres *server.Postgres)) {
	t.Helper()
	for _, two := range []bool{false, true} {
		name := map[bool]string{false: "one process", true: "two processes"}[two]
		t.Run(name+" on SQLite", func(t *testing.T) { test(t, two, t.TempDir(), nil) })
		t.Run(name+" on PostgreSQL", func(t *testing.T) { test(t, two, on.postgres().Database(t), on.postgres()) })
	}
}

// bases are the servers that the cases share: postgres starts PostgreSQL when it is first asked for.
type bases struct{ postgres func() *server.Postgres }

// exporting has the programs export to a receiver without delay.
func exporting(t *testing.T, protocol, sampler string) *otlp.Receiver {
	t.Helper()
	r, endpoints := otlp.Start(t)
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": endpoints[protocol], "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_TRACES_SAMPLER": sampler,
		"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "200",
	} {
		t.Setenv(name, value)
	}
	return r
}

// seenUpstream are headers of the requests that the vendors got.
type seenUpstream struct {
	mu  sync.Mutex
	all []http.Header
}

func (s *seenUpstream) watch(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r.Header.Clone())
}

// at returns those of one request, the last for -1.
func (s *seenUpstream) at(i int) http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 {
		i += len(s.all)
	}
	return s.all[i]
}

// ask makes a streamed chat request within a trace, and returns the gateway's id of it.
func ask(t *testing.T, r *rig, model, key, flags string) (id, body string) {
	t.Helper()
	text := fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":%q}]}`, model, prompt)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"/v1/chat/completions", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Traceparent", "00-"+callersTrace+"-"+callersSpan+"-"+flags)
	req.Header.Set("Tracestate", "vendor=1")
	req.Header.Set("Baggage", "user=7")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Get("X-Request-ID"), string(all)
}

// A stream that fell back is one tree: the caller's span, the edge's, the core's, and one for
// each attempt; each upstream sees the context of its attempt.
func oneTree(t *testing.T, on bases) {
	allForms(t, on, func(t *testing.T, two bool, data string, _ *server.Postgres) {
		protocol := map[bool]string{false: "grpc", true: "http/protobuf"}[two]
		got, seen := exporting(t, protocol, "parentbased_always_on"), &seenUpstream{}
		r := start(t, two, data, func(string, string) []string { return []string{"--log-level", "debug"} })
		r.vendors.Watch = seen.watch
		id, body := ask(t, r, vendors.Model(vendors.BrokenChat, "traced", 5), r.Keys["chat"], "01")
		if !strings.Contains(body, "[DONE]") {
			t.Fatalf("no whole stream: %s", body)
		}
		spans := got.Trace(t, callersTrace, 4)
		if len(spans) != 4 {
			t.Fatalf("%d spans, want 4: %v", len(spans), spans)
		}
		edge, core, failed, served := spans[0], spans[1], spans[2], spans[3]
		for i, want := range []struct {
			name, parent string
			kind         tracepb.Span_SpanKind
		}{
			{"POST /v1/chat/completions", callersSpan, tracepb.Span_SPAN_KIND_SERVER},
			{"genway.v1.Generation/StreamGenerateText", hex.EncodeToString(edge.GetSpanId()), tracepb.Span_SPAN_KIND_SERVER},
			{"chat *-traced-*", hex.EncodeToString(core.GetSpanId()), tracepb.Span_SPAN_KIND_CLIENT},
			{"chat *-traced-*", hex.EncodeToString(core.GetSpanId()), tracepb.Span_SPAN_KIND_CLIENT},
		} {
			s := spans[i]
			if s.GetName() != want.name || hex.EncodeToString(s.GetParentSpanId()) != want.parent || s.GetKind() != want.kind || otlp.Attribute(s, "genway.request_id") != id || s.GetTraceState() != "vendor=1" {
				t.Errorf("span %d: %v, want %+v and the request %s", i, s, want, id)
			}
		}
		if otlp.Attribute(failed, "genway.upstream") != "first" || failed.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("the failed attempt: %v", failed)
		}
		if otlp.Attribute(served, "genway.upstream") != "second" || otlp.Event(served, "genway.first_token") == nil || otlp.Event(served, "genway.hold_back_released") == nil || served.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("the attempt that served: %v", served)
		}
		if otlp.Event(core, "genway.fallback") == nil {
			t.Errorf("the core's span does not have the fallback: %v", core)
		}
		for i, attempt := range []*tracepb.Span{failed, served} {
			h := seen.at(i)
			if want := "00-" + callersTrace + "-" + hex.EncodeToString(attempt.GetSpanId()) + "-01"; h.Get("Traceparent") != want || h.Get("Tracestate") != "vendor=1" || h.Get("Baggage") != "user=7" {
				t.Errorf("upstream %d saw %q %q %q, want %s", i, h.Get("Traceparent"), h.Get("Tracestate"), h.Get("Baggage"), want)
			}
		}
		vendor(t, r, seen)
		got.Await(t, "metrics", func(_ []*tracepb.Span, metrics map[string]bool) bool {
			return metrics["gen_ai.client.inference.duration"] && metrics["http.server.request.duration"] && metrics["genway.own.duration"]
		})
		logged(t, r, id)
		quiet(t, r, got)
	})
}

// vendor demands that a vendor gets no context of a trace.
func vendor(t *testing.T, r *rig, seen *seenUpstream) {
	t.Helper()
	ask(t, r, vendors.Model(vendors.Answer, "untraced", 6), r.Keys["chat"], "01")
	last := seen.at(-1)
	for _, name := range []string{"Traceparent", "Tracestate", "Baggage"} {
		if last.Get(name) != "" {
			t.Errorf("a vendor got %s: %s", name, last.Get(name))
		}
	}
}

// logged demands that both lines of a request have its trace.
func logged(t *testing.T, r *rig, id string) {
	t.Helper()
	for msg, p := range map[string]*server.Process{"request": r.Edge, "call": r.Core} {
		if line := awaitLine(t, p, msg, id); line["trace_id"] != callersTrace {
			t.Errorf("the line %q has the trace %v", msg, line["trace_id"])
		}
	}
}

// quiet demands that nothing that was exported holds a prompt, an answer or a key.
func quiet(t *testing.T, r *rig, got *otlp.Receiver) {
	t.Helper()
	raw := got.Raw()
	secrets := map[string]string{"a prompt": prompt, "an answer": "Answer number", "the upstream's key": upstreamKey}
	for group, key := range r.Keys {
		secrets["the key of "+group] = key
	}
	for what, secret := range secrets {
		if strings.Contains(raw, secret) {
			t.Errorf("%s was exported", what)
		}
	}
}

// A request that fails or is refused is exported although its caller and the sampler declined;
// one that went well is not.
func failuresAreKept(t *testing.T, on bases) {
	forms(t, on, func(t *testing.T, two bool, data string) {
		got := exporting(t, "grpc", "always_off")
		r := start(t, two, data, func(string, string) []string { return []string{"--trace-slow=-1s"} })
		fine, _ := ask(t, r, vendors.Model(vendors.Answer, "traced", 1), r.Keys["chat"], "00")
		broken, _ := ask(t, r, vendors.Model(vendors.Broken, "traced", 2), r.Keys["chat"], "00")
		refused, _ := ask(t, r, vendors.Model(vendors.Answer, "traced", 3), "gwk_wrong", "00")
		got.Await(t, "the spans of failures", func(spans []*tracepb.Span, _ map[string]bool) bool {
			of := map[string]int{}
			for _, s := range spans {
				if hex.EncodeToString(s.GetTraceId()) == startsTrace {
					continue // one that was refused while the key was read
				}
				of[otlp.Attribute(s, "genway.request_id")]++
				if hex.EncodeToString(s.GetTraceId()) != callersTrace {
					t.Errorf("a span of another trace: %v", s)
				}
			}
			if of[fine] > 0 {
				t.Errorf("%d spans of a request that went well", of[fine])
			}
			return of[broken] == 4 && of[refused] == 2
		})
	})
}

// A slow request is exported, too, with the spans of both sides.
func slowIsKept(t *testing.T, on bases) {
	forms(t, on, func(t *testing.T, two bool, data string) {
		got := exporting(t, map[bool]string{false: "http/protobuf", true: "grpc"}[two], "always_off")
		r := start(t, two, data, func(string, string) []string { return []string{"--trace-slow", "1ns"} })
		ask(t, r, vendors.Model(vendors.Answer, "traced", 1), r.Keys["chat"], "00")
		got.Trace(t, callersTrace, 3)
	})
}
