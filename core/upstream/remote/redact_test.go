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
)

// An upstream that repeats our credentials in an error tells them neither to the caller
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
		_, err = u.GenerateText(t.Context(), &genwayv1.GenerateTextRequest{
			Model: "m", Messages: []*genwayv1.Message{user("hi")},
			Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)},
		})
		f := fault.From(err)
		said := f.Message + string(f.Wire.GetJson())
		if f.Cause != nil {
			said += f.Cause.Error()
		}
		if strings.Contains(said, key) || strings.Contains(said, header) || !strings.Contains(said, "no: [REDACTED] and [REDACTED] of "+plain) {
			t.Errorf("%d: %s", status, said)
		}
	}
}
