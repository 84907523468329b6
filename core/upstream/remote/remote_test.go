package remote_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is what an upstream was asked.
type asked struct {
	path   string
	header http.Header
	body   string
}

// serve starts an upstream that answers with a body, and an adapter in front.
func serve(t *testing.T, protocol genwayv1.Protocol, base, answer string) (*remote.Upstream, *asked) {
	t.Helper()
	seen := &asked{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a broken body shows as a short one
		*seen = asked{r.URL.RequestURI(), r.Header, string(body)}
		w.WriteHeader(http.StatusCreated) // case K12
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	transport := remote.NewTransport(remote.Way{})
	t.Cleanup(transport.CloseIdleConnections)
	u, err := remote.New(remote.Config{Protocol: protocol, BaseURL: server.URL + base, APIKey: "k", Headers: map[string]string{"X-Own": "1"}, HTTP: transport})
	if err != nil {
		t.Fatal(err)
	}
	return u, seen
}

func user(text string) *genwayv1.Message {
	return &genwayv1.Message{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: text}}}}}
}

// Base addresses follow the conventions of the vendors' own clients: with or
// without the version, with a path of the operator's own.
func TestAddresses(t *testing.T) {
	const (
		chat      = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
		responses = genwayv1.Protocol_PROTOCOL_RESPONSES
		messages  = genwayv1.Protocol_PROTOCOL_MESSAGES
		generate  = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	)
	answers := map[genwayv1.Protocol]string{
		chat:      `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`,
		responses: `{"id":"r","object":"response","created_at":1,"model":"m","status":"completed","output":[]}`,
		messages:  `{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
		generate:  `{"candidates":[{"content":{"role":"model","parts":[{"text":"x"}]},"finishReason":"STOP"}]}`,
	}
	for _, c := range []struct {
		protocol               genwayv1.Protocol
		base, model, path, key string
	}{
		{chat, "", "m", "/v1/chat/completions", "Authorization: Bearer k"},
		{chat, "/v1", "m", "/v1/chat/completions", "Authorization: Bearer k"},
		{chat, "/v1/", "m", "/v1/chat/completions", "Authorization: Bearer k"},
		{chat, "/api/paas/v4", "m", "/api/paas/v4/chat/completions", "Authorization: Bearer k"},
		{responses, "/openai", "m", "/openai/responses", "Authorization: Bearer k"},
		{messages, "", "m", "/v1/messages", "X-Api-Key: k"},
		{generate, "", "gemini", "/v1beta/models/gemini:generateContent", "X-Goog-Api-Key: k"},
		{generate, "/v1", "models/gemini", "/v1/models/gemini:generateContent", "X-Goog-Api-Key: k"},
		{generate, "", "a/b c", "/v1beta/models/a%2Fb%20c:generateContent", "X-Goog-Api-Key: k"},
	} {
		u, seen := serve(t, c.protocol, c.base, answers[c.protocol])
		if _, err := u.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: c.model, Messages: []*genwayv1.Message{user("hi")}})); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		name, value, _ := strings.Cut(c.key, ": ")
		if seen.path != c.path || seen.header.Get(name) != value || seen.header.Get("X-Own") != "1" {
			t.Errorf("base %q, model %q: %s %v, want %s with %s", c.base, c.model, seen.path, seen.header, c.path, c.key)
		}
	}
}

// What an adapter cannot do it refuses without a call.
func TestUnsupported(t *testing.T) {
	u, seen := serve(t, genwayv1.Protocol_PROTOCOL_IMAGES, "", `{}`)
	_, textErr := u.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
	_, countErr := u.CountTokens(t.Context(), &genwayv1.CountTokensRequest{})
	u, _ = serve(t, genwayv1.Protocol_PROTOCOL_MESSAGES, "", `{}`)
	_, imageErr := u.GenerateImage(t.Context(), &genwayv1.GenerateImageRequest{Model: "m"})
	for name, err := range map[string]error{"text": textErr, "image": imageErr} {
		if f := fault.From(err); f == nil || f.Kind != fault.InvalidRequest || f.Reason != fault.ReasonUnsupported {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f := fault.From(countErr); f == nil || f.Kind != fault.NotSupported || f.HTTPStatus() != 501 {
		t.Errorf("count: %v", countErr)
	}
	if seen.path != "" {
		t.Errorf("it was asked: %s", seen.path)
	}
	for _, bad := range []remote.Config{{BaseURL: "no-scheme"}, {BaseURL: "http://x"}, {BaseURL: "ftp://x", Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES}} {
		if _, err := remote.New(bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// A strict call that would lose something is refused without being made.
func TestStrictIsRefusedFirst(t *testing.T) {
	u, seen := serve(t, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, "", `{}`)
	topK := int32(4)
	req := &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{user("hi")}, Sampling: &genwayv1.Sampling{TopK: &topK}}
	_, unary := u.GenerateText(call.With(t.Context(), &call.Record{Strict: true}), deferred.New(req))
	streamed := u.StreamGenerateText(call.With(t.Context(), &call.Record{Strict: true}), deferred.New(req), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
	for name, err := range map[string]error{"unary": unary, "streamed": streamed} {
		if f := fault.From(err); f == nil || f.Kind != fault.InvalidRequest || f.Param != "sampling.top_k" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if seen.path != "" {
		t.Errorf("it was asked: %s", seen.path)
	}
}
