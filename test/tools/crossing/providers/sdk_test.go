// Package providers_test holds Genway's requests to the places where models live against those
// of the vendors' own SDKs: the same method, address, signature and body.
package providers_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/upstream/credential"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/test/clouds"
)

// seen is a request as the place gets it.
type seen struct {
	method, address string
	header          http.Header
	body            []byte
}

// place answers in place of a vendor, and refuses what is not signed rightly.
type place struct {
	t        *testing.T
	verifier *clouds.Verifier
	answer   string
	typed    string
	last     seen
}

// RoundTrip records a request and answers it.
func (p *place) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	p.last = seen{r.Method, r.URL.Scheme + "://" + r.URL.Host + r.URL.EscapedPath() + "?" + r.URL.RawQuery, r.Header.Clone(), body}
	resp := &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: http.Header{"Content-Type": {p.typed}}, Body: io.NopCloser(strings.NewReader(p.answer))}
	if p.verifier != nil {
		arrived := r.Clone(context.Background())
		arrived.Host, arrived.ContentLength = r.URL.Host, int64(len(body))
		if err := p.verifier.Verify(arrived, body); err != nil {
			p.t.Errorf("%s: %v", p.last.address, err)
			resp.StatusCode = http.StatusForbidden
		}
	}
	return resp, nil
}

const answered = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"fine"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}`

var events = []string{
	`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"fine"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`,
	`{"type":"message_stop"}`,
}

// framed are the events in AWS's event stream, sse as server-sent events.
func framed(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	for _, e := range events {
		m := eventstream.Message{Payload: []byte(`{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(e)) + `"}`)}
		for name, value := range map[string]string{":message-type": "event", ":event-type": "chunk", ":content-type": "application/json"} {
			m.Headers.Set(name, eventstream.StringValue(value))
		}
		if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func sse() string {
	var out strings.Builder
	for _, e := range events {
		var kind struct{ Type string }
		_ = json.Unmarshal([]byte(e), &kind)
		out.WriteString("event: " + kind.Type + "\ndata: " + e + "\n\n")
	}
	return out.String()
}

const (
	region  = "us-east-1"
	keyID   = "AKIDEXAMPLE"
	secret  = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	session = "the-session-token"
	token   = "the-token"
	claude  = "anthropic.claude-opus-4-7-v1:0"
)

func params(model string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: model, MaxTokens: 64,
		System:   []anthropic.TextBlockParam{{Text: "Be <brief> & plain."}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Say fine, ü."), anthropic.NewImageBlockBase64("image/png", "aGVsbG8="))},
		Tools:    []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "look", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"at": map[string]any{"type": "string"}}}}}},
	}
}

// asks sends the request with a client, and demands the answer.
func asks(t *testing.T, client anthropic.Client, model string, streamed bool) {
	t.Helper()
	beta := anthropicoption.WithHeader("anthropic-beta", "beta-1,beta-2")
	if !streamed {
		got, err := client.Messages.New(t.Context(), params(model), beta)
		if err != nil || len(got.Content) != 1 || got.Content[0].Text != "fine" {
			t.Errorf("got %+v, %v", got, err)
		}
		return
	}
	stream := client.Messages.NewStreaming(t.Context(), params(model), beta)
	var got anthropic.Message
	for stream.Next() {
		if err := got.Accumulate(stream.Current()); err != nil {
			t.Error(err)
		}
	}
	if stream.Err() != nil || len(got.Content) != 1 || got.Content[0].Text != "fine" || got.StopReason != "end_turn" {
		t.Errorf("got %+v, %v", got, stream.Err())
	}
}

// genway sends what a caller sent, as an upstream of the configuration does.
func genway(t *testing.T, upstream string, at *place, model string, caller seen, streamed bool) seen {
	t.Helper()
	made, req := adapter(t, upstream, at, model, caller)
	var err error
	if streamed {
		completed := false
		err = made.StreamGenerateText(t.Context(), deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
			completed = completed || ev.GetCompleted() != nil
			return nil
		})
		if err == nil && !completed {
			t.Error("genway: the stream is not complete")
		}
	} else {
		_, err = made.GenerateText(t.Context(), deferred.New(req))
	}
	if err != nil {
		t.Errorf("genway: %v", err)
	}
	return at.last
}

// adapter is an upstream of the configuration, and the request that a caller has for it.
func adapter(t *testing.T, upstream string, at *place, model string, caller seen) (*remote.Upstream, *genwayv1.GenerateTextRequest) {
	t.Helper()
	c, err := config.Parse("f", []byte("upstreams: {u: {"+upstream+"}}\nroutes: [{model: \"*\", targets: [{upstream: u}]}]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	u := c.Upstreams["u"]
	settings := remote.Config{Protocol: protocol.ByKind(u.Kind).ID, BaseURL: u.BaseURL, Query: u.Query, Headers: u.Headers, APIKey: u.APIKey, Place: u.Place(), HTTP: at}
	switch u.Auth.Way() {
	case "aws":
		settings.Credential = credential.NewAWS("u", credential.AWS{Source: credential.AWSKeys, AccessKeyID: keyID, SecretAccessKey: secret, SessionToken: session, Region: u.SigningRegion(), Service: u.Place().Service})
	case "google", "entra":
		settings.Credential = credential.NewCommand("u", credential.Command{Args: []string{"echo", token}, Lifetime: time.Hour})
	}
	if made, ok := settings.Credential.(io.Closer); ok {
		t.Cleanup(func() { _ = made.Close() })
	}
	made, err := remote.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	wire := &genwayv1.WireMessage{Protocol: settings.Protocol, Json: caller.body, Headers: map[string]string{}}
	for name := range caller.header {
		if lower := strings.ToLower(name); protocol.NamesHeader(protocol.Of(settings.Protocol).PassedHeaders, lower) {
			wire.Headers[lower] = caller.header.Get(name)
		}
	}
	return made, &genwayv1.GenerateTextRequest{Model: model, Wire: wire}
}

// clients are headers that name the client, or that the connection and not the request is
// about. A dash at the end stands for all that begin so.
var clients = []string{"User-Agent", "X-Stainless-", "Amz-Sdk-", "Accept", "Accept-Encoding", "Content-Length", "X-Goog-Api-Client", "X-Server-Timeout"}

// signatures are headers of a signature, which the place verifies, and whose values differ by
// what else is signed. The sum of the body is in the signature; only some services want it
// in a header, too.
var signatures = []string{"Authorization", "X-Amz-Date", "X-Amz-Content-Sha256"}

// same demands that both sent the same, but for the headers that name the client, and leave.
func same(t *testing.T, sdk, ours seen, leave ...string) {
	t.Helper()
	if sdk.method != ours.method || sdk.address != ours.address {
		t.Errorf("the SDK calls %s %s, genway %s %s", sdk.method, sdk.address, ours.method, ours.address)
	}
	var a, b any
	if json.Unmarshal(sdk.body, &a) != nil || json.Unmarshal(ours.body, &b) != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("the SDK sends\n%s\ngenway\n%s", sdk.body, ours.body)
	}
	for name := range sdk.header {
		left := func(l string) bool { return name == l || strings.HasSuffix(l, "-") && strings.HasPrefix(name, l) }
		if slices.ContainsFunc(slices.Concat(clients, leave), left) {
			continue
		}
		if x, y := sdk.header.Values(name), ours.header.Values(name); strings.ReplaceAll(strings.Join(x, ","), " ", "") != strings.ReplaceAll(strings.Join(y, ","), " ", "") {
			t.Errorf("%s: the SDK sends %q, genway %q", name, x, y)
		}
	}
}

// sent is what a client without any place sends to genway.
func sent(t *testing.T, model string, streamed bool) seen {
	t.Helper()
	p := &place{t: t, answer: answered, typed: "application/json"}
	if streamed {
		p.answer, p.typed = sse(), "text/event-stream"
	}
	asks(t, anthropic.NewClient(anthropicoption.WithAPIKey("k"), anthropicoption.WithHTTPClient(&http.Client{Transport: p})), model, streamed)
	return p.last
}
