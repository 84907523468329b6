package remote_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// A caller of the upstream's protocol gets through with what turns its body's features
// on, and reads what the vendor says of limits; others get the request's name.
func TestHeadersOfTheProtocol(t *testing.T) {
	const (
		chat     = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
		messages = genwayv1.Protocol_PROTOCOL_MESSAGES
		body     = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
		whole    = `{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	)
	for _, c := range []struct {
		name             string
		upstream, caller genwayv1.Protocol
		version          string
		status           int
		sent, answered   map[string]string
	}{
		{
			"same protocol", messages, messages, "", http.StatusOK,
			map[string]string{"Anthropic-Beta": "a,b", "Anthropic-Version": "2026-10-21", "X-Api-Key": "k", "Cookie": ""},
			map[string]string{"anthropic-ratelimit-requests-remaining": "7", "x-genway-upstream-request-id": "req_9"},
		},
		{
			"a refusal", messages, messages, "", http.StatusTooManyRequests,
			map[string]string{"Anthropic-Beta": "a,b"},
			map[string]string{"anthropic-ratelimit-requests-remaining": "7", "x-genway-upstream-request-id": "req_9"},
		},
		{
			"same protocol, of a version", messages, messages, "2023-06-01", http.StatusOK,
			map[string]string{"Anthropic-Beta": "a,b", "Anthropic-Version": "2023-06-01"},
			map[string]string{"anthropic-ratelimit-requests-remaining": "7", "x-genway-upstream-request-id": "req_9"},
		},
		{
			"another protocol, of a version", messages, chat, "2026-10-21", http.StatusOK,
			map[string]string{"Anthropic-Beta": "", "Anthropic-Version": "2026-10-21"},
			map[string]string{"x-genway-upstream-request-id": "req_9"},
		},
		{
			"another protocol", messages, chat, "", http.StatusOK,
			map[string]string{"Anthropic-Beta": "", "Anthropic-Version": "2023-06-01"},
			map[string]string{"x-genway-upstream-request-id": "req_9"},
		},
		{
			"chat", chat, chat, "", http.StatusOK,
			map[string]string{"Anthropic-Version": "", "Openai-Beta": "c", "Authorization": "Bearer k"},
			map[string]string{"x-ratelimit-remaining-tokens": "3", "openai-processing-ms": "12", "x-genway-upstream-request-id": "req_9"},
		},
	} {
		var seen http.Header
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = r.Header
			for name, value := range map[string]string{
				"Anthropic-Ratelimit-Requests-Remaining": "7", "Anthropic-Organization-Id": "ours", "X-Ratelimit-Remaining-Tokens": "3",
				"X-Ratelimit-Long": strings.Repeat("9", 200), "Openai-Organization": "ours", "Openai-Processing-Ms": "12", "Request-Id": "req_9", "Set-Cookie": "a=b",
			} {
				w.Header().Set(name, value)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, map[genwayv1.Protocol]string{messages: whole, chat: aChat}[c.upstream])
		}))
		transport := remote.NewTransport(remote.Way{})
		u, err := remote.New(remote.Config{Protocol: c.upstream, BaseURL: server.URL, APIKey: "k", Version: c.version, HTTP: transport})
		if err != nil {
			t.Fatal(err)
		}
		var record call.Record
		_, err = u.GenerateText(call.With(t.Context(), &record), &genwayv1.GenerateTextRequest{
			Model: "m", Messages: []*genwayv1.Message{user("hi")},
			Wire: &genwayv1.WireMessage{Protocol: c.caller, Json: []byte(body), Headers: map[string]string{
				"anthropic-beta": "a,b", "anthropic-version": "2026-10-21", "cookie": "a=b", "x-api-key": "the caller's", "openai-beta": "c",
			}},
		})
		if (err == nil) != (c.status == http.StatusOK) {
			t.Errorf("%s: %v", c.name, err)
		}
		for name, want := range c.sent {
			if got := seen.Get(name); got != want {
				t.Errorf("%s: the upstream got %s: %q, want %q", c.name, name, got, want)
			}
		}
		if !maps.Equal(record.Headers, c.answered) {
			t.Errorf("%s: told %v, want %v", c.name, record.Headers, c.answered)
		}
		transport.CloseIdleConnections()
		server.Close()
	}
}
