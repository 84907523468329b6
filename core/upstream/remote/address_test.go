package remote_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// What the operator writes is what is called: the base as the protocol's SDK takes it, a
// version where there is none but the host, or the operator's own path, and the query
// (case P6).
func TestWhatIsWrittenIsCalled(t *testing.T) {
	const (
		chat      = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
		responses = genwayv1.Protocol_PROTOCOL_RESPONSES
		messages  = genwayv1.Protocol_PROTOCOL_MESSAGES
		generate  = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
		images    = genwayv1.Protocol_PROTOCOL_IMAGES
	)
	for _, c := range []struct {
		protocol   genwayv1.Protocol
		base, path string
		query      map[string]string
		unary      string
		streamed   string // empty: the same
		counted    string // empty: the protocol has none
	}{
		// A version is added to a URL without a path.
		{chat, "", "", nil, "/v1/chat/completions", "", ""},
		{chat, "/", "", nil, "/v1/chat/completions", "", ""},
		{chat, "/v1", "", nil, "/v1/chat/completions", "", ""},
		{chat, "/v1/", "", nil, "/v1/chat/completions", "", ""},
		{chat, "/v1beta/openai", "", nil, "/v1beta/openai/chat/completions", "", ""},
		{chat, "/openai", "", nil, "/openai/chat/completions", "", ""},
		{chat, "/compat/v1/x", "", nil, "/compat/v1/x/chat/completions", "", ""},
		{responses, "", "", nil, "/v1/responses", "", "/v1/responses/input_tokens"},
		{responses, "/openai/v1", "", nil, "/openai/v1/responses", "", "/openai/v1/responses/input_tokens"},
		{responses, "/openai", "", nil, "/openai/responses", "", "/openai/responses/input_tokens"},
		{images, "", "", nil, "/v1/images/generations", "", ""},
		{images, "/x", "", nil, "/x/images/generations", "", ""},
		// The SDKs of these two add the version themselves; there is never a second one.
		{messages, "", "", nil, "/v1/messages", "", "/v1/messages/count_tokens"},
		{messages, "/anthropic", "", nil, "/anthropic/v1/messages", "", "/anthropic/v1/messages/count_tokens"},
		{messages, "/v1", "", nil, "/v1/messages", "", "/v1/messages/count_tokens"},
		{generate, "", "", nil, "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent?alt=sse", "/v1beta/models/m:countTokens"},
		{generate, "/gemini", "", nil, "/gemini/v1beta/models/m:generateContent", "/gemini/v1beta/models/m:streamGenerateContent?alt=sse", "/gemini/v1beta/models/m:countTokens"},
		{generate, "/v1", "", nil, "/v1/models/m:generateContent", "/v1/models/m:streamGenerateContent?alt=sse", "/v1/models/m:countTokens"},
		{generate, "/v1/projects/p/publishers/google", "", nil, "/v1/projects/p/publishers/google/models/m:generateContent", "/v1/projects/p/publishers/google/models/m:streamGenerateContent?alt=sse", "/v1/projects/p/publishers/google/models/m:countTokens"},
		// A path of the operator's.
		{chat, "", "api/generate", nil, "/api/generate", "", ""},
		{chat, "/v1", "/chat", nil, "/v1/chat", "", ""},
		{chat, "/v1/chat/completions", "/", nil, "/v1/chat/completions", "", ""},
		{chat, "", "/a%2Fb/c", nil, "/a%2Fb/c", "", ""},
		{messages, "/anthropic", "messages", nil, "/anthropic/messages", "", "/anthropic/messages/count_tokens"},
		{generate, "", "/v1/publishers/google/models", nil, "/v1/publishers/google/models/m:generateContent", "/v1/publishers/google/models/m:streamGenerateContent?alt=sse", "/v1/publishers/google/models/m:countTokens"},
		// A query of the operator's.
		{chat, "/openai/deployments/d?api-version=2024-10-21", "", nil, "/openai/deployments/d/chat/completions?api-version=2024-10-21", "", ""},
		{chat, "?a=1&a=2", "", map[string]string{"b": "x y", "c": ""}, "/v1/chat/completions?a=1&a=2&b=x+y&c=", "", ""},
		{generate, "", "", map[string]string{"$x": "1"}, "/v1beta/models/m:generateContent?%24x=1", "/v1beta/models/m:streamGenerateContent?%24x=1&alt=sse", "/v1beta/models/m:countTokens?%24x=1"},
		{chat, "/a%2Fb", "", nil, "/a%2Fb/chat/completions", "", ""},
	} {
		var called string
		refuse := answering(func(r *http.Request) (*http.Response, error) {
			called = r.URL.RequestURI()
			return answered(503, strings.NewReader(`{}`))(r)
		})
		u := adapter(t, c.protocol, refuse, func(config *remote.Config) {
			config.BaseURL, config.Path, config.Query = config.BaseURL+c.base, c.path, c.query
		})
		unary := func() error { _, err := u.GenerateText(t.Context(), deferred.New(hello())); return err }
		if c.protocol == images {
			unary = func() error {
				_, err := u.GenerateImage(t.Context(), &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p"})
				return err
			}
		}
		if _ = unary(); called != c.unary {
			t.Errorf("%v at %q + %q: %s, want %s", c.protocol, c.base, c.path, called, c.unary)
		}
		if shown := u.URL("m"); shown != "http://upstream.invalid"+c.unary {
			t.Errorf("%v at %q + %q: shows %s", c.protocol, c.base, c.path, shown)
		}
		if c.protocol != images {
			_ = u.StreamGenerateText(t.Context(), deferred.New(hello()), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
			if want := map[bool]string{true: c.unary, false: c.streamed}[c.streamed == ""]; called != want {
				t.Errorf("%v at %q + %q streams: %s, want %s", c.protocol, c.base, c.path, called, want)
			}
		}
		if c.counted != "" {
			_, _ = u.CountTokens(t.Context(), &genwayv1.CountTokensRequest{Request: hello()})
			if called != c.counted {
				t.Errorf("%v at %q + %q counts: %s, want %s", c.protocol, c.base, c.path, called, c.counted)
			}
		}
	}
}

// Credentials in the address are called, and not shown: nor in what an upstream repeats.
func TestCredentialsInAddresses(t *testing.T) {
	var called string
	repeat := answering(func(r *http.Request) (*http.Response, error) {
		called = r.URL.RequestURI()
		return answered(400, io.MultiReader(strings.NewReader(`{"error":{"message":"bad `), strings.NewReader(r.URL.RawQuery), strings.NewReader(`"}}`)))(r)
	})
	u := chat(t, repeat, func(c *remote.Config) {
		c.BaseURL = "http://user:password-1@upstream.invalid/v1?access_token=secret-in-base"
		c.Query = map[string]string{"api_key": "secret-in-query", "api-version": "2024-10-21"}
	})
	_, err := u.GenerateText(t.Context(), deferred.New(hello()))
	if called != "/v1/chat/completions?access_token=secret-in-base&api-version=2024-10-21&api_key=secret-in-query" {
		t.Errorf("called %s", called)
	}
	for name, text := range map[string]string{"the address shown": u.URL("m"), "the error": err.Error()} {
		if strings.Contains(text, "secret-in") || strings.Contains(text, "password-1") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if shown := u.URL("m"); !strings.Contains(shown, "api-version=2024-10-21") || !strings.Contains(shown, "upstream.invalid/v1/chat/completions") {
		t.Errorf("shows %s", shown)
	}
}
