package coreproc

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/route"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/sandbox"
)

// Each kind of upstream is checked by the cheapest call that it has, and one that fails its
// checks is passed over.
func TestChecks(t *testing.T) {
	var called string
	status := http.StatusOK
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		called = r.Method + " " + r.URL.Path + " " + string(body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		switch {
		case status != http.StatusOK:
			_, _ = io.WriteString(w, `{"error":{"message":"no","type":"x"}}`)
		case strings.HasSuffix(r.URL.Path, "/models"):
			_, _ = io.WriteString(w, `{"data":[]}`)
		case strings.HasSuffix(r.URL.Path, "count_tokens"):
			_, _ = io.WriteString(w, `{"input_tokens":1}`)
		default:
			_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
		}
	}))
	defer vendor.Close()
	embedded := sandbox.New(sandbox.Config{})
	build := func(upstream string) *Upstreams {
		c, err := config.Parse("f", []byte("upstreams: {a: {base_url: \""+vendor.URL+"\", "+upstream+"}}\nroutes: [{model: \"*\", targets: [{upstream: a}], fallback: [{upstream: sandbox}]}]\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		built, err := Build(c, embedded, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = built.Close() })
		return built
	}
	for upstream, want := range map[string]string{
		"kind: chat, check: {every: 1s}":                                     "GET /v1/models ",
		"kind: chat, check: {every: 1s, model: m}":                           `POST /v1/chat/completions {"model":"m",`,
		"kind: messages, check: {every: 1s, model: m}":                       `POST /v1/messages/count_tokens {"model":"m",`,
		"kind: messages, provider: openrouter, check: {every: 1s, model: m}": `POST /api/v1/messages {"model":"m",`,
	} {
		built := build(upstream)
		status = http.StatusOK
		_ = built.checks[0].Ask(t.Context())
		if !strings.HasPrefix(called, want) {
			t.Errorf("%s: called %s", upstream, called)
		}
		status = http.StatusServiceUnavailable
		if err := built.checks[0].Ask(t.Context()); err == nil {
			t.Errorf("%s: 503 is good", upstream)
		}
	}
	built := build("kind: chat, check: {every: 1s}, max_concurrent: 3")
	r := route.New(built.Routes)
	ask := func() string {
		called = ""
		if _, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "sandbox-text", Messages: []*genwayv1.Message{{
			Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}},
		}}})); err != nil {
			t.Fatal(fault.From(err))
		}
		return called
	}
	status = http.StatusOK
	built.checks[0].Report(false)
	if got := ask(); got != "" {
		t.Errorf("it fails its checks and was called: %s", got)
	}
	built.checks[0].Report(true)
	if got := ask(); got == "" {
		t.Error("it answers its checks and was not called")
	}
}
