package remote_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// Credentials that an upstream repeats in an error reach neither the caller
// nor to the log (case K1).
func TestCredentialsAreRedacted(t *testing.T) {
	const key, header, plain = "sk-of-the-gateway-0123", "second-of-the-gateway", "our-own-name"
	for _, status := range []int{400, 401, 403, 404, 429, 500} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"no: `+key+` and `+header+` of `+plain+`","type":"t"}}`)
		}))
		t.Cleanup(server.Close)
		transport := remote.NewTransport(remote.Way{})
		t.Cleanup(transport.CloseIdleConnections)
		u, err := remote.New(remote.Config{
			Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, BaseURL: server.URL, APIKey: key,
			Headers: map[string]string{"X-Second-Token": header, "X-Name": plain}, HTTP: transport,
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = u.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{
			Model: "m", Messages: []*genwayv1.Message{user("hi")},
			Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)},
		}))
		f := fault.From(err)
		shown := f.Message + string(f.Wire.GetJson())
		if f.Cause != nil {
			shown += f.Cause.Error()
		}
		if strings.Contains(shown, key) || strings.Contains(shown, header) || !strings.Contains(shown, "no: [REDACTED] and [REDACTED] of "+plain) {
			t.Errorf("%d: %s", status, shown)
		}
	}
}

// The same for an upstream that sends the error as an answer: with status 200, or as an event of a
// stream that had begun.
func TestCredentialsInAnswersAreRedacted(t *testing.T) {
	const key = "sk-of-the-gateway-0123"
	const failure = `{"error":{"message":"no: ` + key + `","type":"t"}}`
	for _, passThrough := range []bool{true, false} {
		for name, answer := range map[string]string{
			"an answer":       failure,
			"the first event": "data: " + failure + "\n\n",
			"a later event":   `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"hi"},"finish_reason":null}]}` + "\n\ndata: " + failure + "\n\n",
		} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
			t.Cleanup(server.Close)
			transport := remote.NewTransport(remote.Way{})
			t.Cleanup(transport.CloseIdleConnections)
			u, err := remote.New(remote.Config{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, BaseURL: server.URL, APIKey: key, HTTP: transport})
			if err != nil {
				t.Fatal(err)
			}
			req := &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{user("hi")}}
			if passThrough {
				req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)}
			}
			var shown strings.Builder
			if name == "an answer" {
				resp, unaryErr := u.GenerateText(t.Context(), deferred.New(req))
				shown.Write(resp.GetWire().GetJson())
				err = unaryErr
			} else {
				err = u.StreamGenerateText(t.Context(), deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
					shown.Write(ev.GetWire().GetData())
					shown.Write(ev.GetWire().GetBatch().GetEvents())
					return nil
				})
			}
			if err != nil {
				f := fault.From(err)
				shown.WriteString(f.Message + string(f.Wire.GetJson()) + f.Error())
			}
			if strings.Contains(shown.String(), key) || !strings.Contains(shown.String(), "no: [REDACTED]") {
				t.Errorf("%s, passThrough %v: %s", name, passThrough, shown.String())
			}
		}
	}
}
