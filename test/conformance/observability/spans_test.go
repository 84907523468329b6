package observability

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/vendors"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// spanOf says which of the documented spans one is.
func spanOf(s *tracepb.Span) string {
	switch {
	case s.GetKind() == tracepb.Span_SPAN_KIND_CLIENT:
		return "attempt"
	case strings.HasPrefix(s.GetName(), "genway.v1.Generation/"):
		return "core"
	}
	return "edge"
}

// documentedWords are the attributes and events of docs/reference/telemetry.md, each as SPAN NAME.
func documentedWords(t *testing.T) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	for line := range strings.Lines(section(t, document(t), "Traces")) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		of := strings.TrimSpace(cells[2])
		if of == "all" {
			of = "edge, core, attempt"
		}
		if strings.ToUpper(of) == of {
			continue // the table of spans, with their kinds
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[1], -1) {
			for span := range strings.SplitSeq(of, ", ") {
				words[span+" "+name[1]] = true
			}
		}
	}
	if len(words) < 40 {
		t.Fatalf("only %d words are documented", len(words))
	}
	return words
}

// reasoning starts an upstream of chat whose answers use tokens of all classes that chat has.
func reasoning(t *testing.T) (url string) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],
"usage":{"prompt_tokens":9,"completion_tokens":8,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}}`)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// documentedSpans compares the spans of requests of all ends with the documented words, both ways.
func documentedSpans(t *testing.T, _ bases) {
	got := exporting(t, "grpc", "always_on")
	r := startWith(t, true, t.TempDir(), func(vendor string) setup {
		other, _ := sparing(t)
		return setup{
			upstreams: fmt.Sprintf("  thinks: {kind: chat, base_url: %q, api_key: k}\n  caches: {kind: messages, base_url: %q, api_key: k}\n", reasoning(t), other),
			routes:    "  - {model: \"*-thinks-*\", targets: [{upstream: thinks}]}\n  - {model: \"*-caches-*\", targets: [{upstream: caches}]}\n",
		}
	}, func(_, side string) []string {
		if side == "edge" {
			return []string{"--heartbeat", "50ms"}
		}
		return nil
	})
	r.round(t, 1)
	r.call(t, "chat", vendors.Model(vendors.Answer, "thinks", 2), false)
	r.call(t, "messages", vendors.Model(vendors.Answer, "caches", 3), false)
	if _, err := r.client.Do(within(t), caller.Call{Protocol: "grpc", Model: "m", Key: r.Keys["internal"], Broken: true}); err != nil {
		t.Error(err)
	}
	_, leave := r.silent(t)
	leave()
	named := r.named(t)
	documented, seen := documentedWords(t), map[string]bool{}
	defer func() { // of what has come in time, too
		for _, word := range slices.Sorted(maps.Keys(seen)) {
			if !documented[word] {
				t.Errorf("%s is not documented", word)
			}
		}
		for _, word := range slices.Sorted(maps.Keys(documented)) {
			if !seen[word] {
				t.Errorf("%s never comes, and is documented", word)
			}
		}
	}()
	got.Await(t, "the last spans", func(spans []*tracepb.Span, _ map[string]bool) bool {
		last := 0
		for _, s := range spans {
			of := spanOf(s)
			for _, a := range s.GetAttributes() {
				seen[of+" "+a.GetKey()] = true
				if a.GetValue().GetStringValue() == named {
					last++
				}
			}
			for _, e := range s.GetEvents() {
				seen[of+" "+e.GetName()] = true
			}
		}
		return last >= 3 && len(seen) >= len(documented)
	})
}

// named makes a request with an id of the caller's, and returns ours.
func (r *rig) named(t *testing.T) (id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t), http.MethodPost, r.URL()+"/v1/chat/completions", strings.NewReader(fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]}`, vendors.Model(vendors.Answer, "traced", 4))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Keys["chat"])
	req.Header.Set("X-Request-ID", "mine")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.Header.Get("X-Request-ID")
}
