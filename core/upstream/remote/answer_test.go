package remote_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/protocol/deferred"
)

const chatAnswer = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`

// answering is a transport that gives every call one answer.
type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// answered is an answer with a body, and headers as name and value in turn.
func answered(status int, body io.Reader, headers ...string) answering {
	return func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body) // what a server does with a request it takes
		h := http.Header{}
		for i := 0; i+1 < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(body), Request: r}, nil
	}
}

func adapter(t *testing.T, protocol genwayv1.Protocol, transport http.RoundTripper, change ...func(*remote.Config)) *remote.Upstream {
	t.Helper()
	config := remote.Config{Protocol: protocol, BaseURL: "http://upstream.invalid", APIKey: "k", HTTP: transport}
	for _, c := range change {
		c(&config)
	}
	u, err := remote.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func hello() *genwayv1.GenerateTextRequest {
	return &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{user("hi")}}
}

func chat(t *testing.T, transport http.RoundTripper, change ...func(*remote.Config)) *remote.Upstream {
	t.Helper()
	return adapter(t, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, transport, change...)
}

func TestZippedAnswers(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, chatAnswer)
	_ = z.Close()
	whole := zipped.Bytes()
	resp, err := chat(t, answered(200, bytes.NewReader(whole), "Content-Encoding", "GZip")).GenerateText(t.Context(), deferred.New(hello()))
	if err != nil || resp.GetCandidates()[0].GetParts()[0].GetText().GetText() != "x" {
		t.Errorf("%v %v", resp, err)
	}
	for name, body := range map[string][]byte{"cut": whole[:len(whole)/2], "no gzip": []byte(chatAnswer)} {
		_, err := chat(t, answered(200, bytes.NewReader(body), "Content-Encoding", "gzip")).GenerateText(t.Context(), deferred.New(hello()))
		if f := fault.From(err); f == nil || f.Kind != fault.BadUpstream {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Answers of any size come whole, whether they say it or not, in a call's own memory or
// in what is used again.
func TestAnswersOfEverySize(t *testing.T) {
	req := hello()
	req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)}
	for _, size := range []int{200, 4096, 4097, 8192, 65_535, 65_536, 65_537, 1_000_000} {
		body := strings.Replace(chatAnswer, "x", strings.Repeat("x", size-len(chatAnswer)+1), 1)
		for _, length := range []int64{-1, int64(len(body))} {
			for _, memory := range []*arena.Arena{nil, new(arena.Arena)} {
				sized := answering(func(r *http.Request) (*http.Response, error) {
					resp, err := answered(200, iotest.HalfReader(strings.NewReader(body)))(r)
					resp.ContentLength = length
					return resp, err
				})
				resp, err := chat(t, sized).GenerateText(arena.With(t.Context(), memory), deferred.New(req))
				if err != nil || string(resp.GetWire().GetJson()) != body {
					t.Errorf("%d bytes, Content-Length %d: %v, got %d", size, length, err, len(resp.GetWire().GetJson()))
				}
				// Without a Content-Length the memory has the next larger size.
				if want := memory != nil && (size >= arena.Least || length < 0 && size > arena.Least/2); memory.Used() != want {
					t.Errorf("%d bytes, Content-Length %d: memory to be used again: %v", size, length, !want)
				}
			}
		}
	}
}

// A byte order mark before a body is no part of it, be it an answer or an error.
func TestByteOrderMarks(t *testing.T) {
	const mark, refusal = "\xef\xbb\xbf", `{"error":{"message":"m","type":"t","param":null,"code":null}}`
	own := hello()
	own.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"m","messages":[]}`)}
	for _, req := range []*genwayv1.GenerateTextRequest{hello(), own} {
		resp, err := chat(t, answered(200, strings.NewReader(mark+chatAnswer))).GenerateText(t.Context(), deferred.New(req))
		if err != nil || resp.GetWire().GetJson() == nil && resp.GetCandidates()[0].GetParts()[0].GetText().GetText() != "x" ||
			resp.GetWire().GetJson() != nil && string(resp.GetWire().GetJson()) != chatAnswer {
			t.Errorf("%v, %v", resp, err)
		}
		_, err = chat(t, answered(400, strings.NewReader(mark+refusal))).GenerateText(t.Context(), deferred.New(req))
		if f := fault.From(err); f == nil || f.Message != "m" {
			t.Errorf("%v", err)
		}
	}
}

func TestRefusals(t *testing.T) {
	const body = `{"error":{"message":"m","type":"t","param":null,"code":null}}`
	in := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		status  int
		headers []string
		kind    fault.Kind
		gets    int
		wait    time.Duration
	}{
		{301, nil, fault.BadUpstream, 502, 0},
		{400, nil, fault.InvalidRequest, 400, 0},
		{401, nil, fault.BadUpstream, 502, 0},
		{403, nil, fault.BadUpstream, 502, 0},
		{404, nil, fault.NotFound, 404, 0},
		{407, nil, fault.BadUpstream, 502, 0},
		{408, nil, fault.Timeout, 408, 0},
		{413, nil, fault.TooLarge, 413, 0},
		{418, nil, fault.InvalidRequest, 418, 0},
		{422, nil, fault.Unprocessable, 422, 0},
		{429, []string{"Retry-After", "3"}, fault.RateLimited, 429, 3 * time.Second},
		{429, []string{"Retry-After", "3", "Retry-After-Ms", "1500"}, fault.RateLimited, 429, 1500 * time.Millisecond},
		{429, []string{"Retry-After", in}, fault.RateLimited, 429, time.Hour},
		{429, []string{"Retry-After", "soon"}, fault.RateLimited, 429, 0},
		{500, nil, fault.BadUpstream, 500, 0},
		{503, nil, fault.Unavailable, 503, 0},
		{504, nil, fault.Timeout, 504, 0},
		{529, nil, fault.Overloaded, 503, 0},
	} {
		u := chat(t, answered(c.status, strings.NewReader(body), append(c.headers, "X-Request-Id", "up_1")...))
		_, err := u.GenerateText(t.Context(), deferred.New(hello()))
		f := fault.From(err)
		if f == nil || f.Kind != c.kind || f.HTTPStatus() != c.gets || f.UpstreamRequestID != "up_1" || f.Wire != nil {
			t.Errorf("%d: %+v", c.status, f)
			continue
		}
		if f.RetryAfter > c.wait || f.RetryAfter < c.wait-2*time.Second {
			t.Errorf("%d %v: wait %v", c.status, c.headers, f.RetryAfter)
		}
		if own := c.status == 401 || c.status == 403 || c.status == 407; own == (f.Message == "m") {
			t.Errorf("%d: message %q", c.status, f.Message)
		}
	}
}

// Failures that other protocols report only by the text of a message.
func TestForeignWords(t *testing.T) {
	for _, c := range []struct {
		status  int
		message string
		kind    fault.Kind
		reason  string
	}{
		{404, "models/m is not found for API version v1beta", fault.NotFound, fault.ReasonModelNotFound},
		{404, "no such file", fault.NotFound, ""},
		{503, "The model is overloaded. Please try again later.", fault.Overloaded, ""},
		{503, "down for repair", fault.Unavailable, ""},
	} {
		u := chat(t, answered(c.status, strings.NewReader(`{"error":{"message":"`+c.message+`","type":"t"}}`)))
		_, err := u.GenerateText(t.Context(), deferred.New(hello()))
		if f := fault.From(err); f == nil || f.Kind != c.kind || (f.Reason == fault.ReasonModelNotFound) != (c.reason != "") {
			t.Errorf("%d %s: %+v", c.status, c.message, f)
		}
	}
}

// The upstream's own error body is for callers of its protocol.
func TestOwnErrorBodies(t *testing.T) {
	const body = `{"error":{"message":"m","type":"t","param":null,"code":null}}`
	req := hello()
	req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"x","messages":[]}`)}
	_, err := chat(t, answered(400, strings.NewReader(body))).GenerateText(t.Context(), deferred.New(req))
	if f := fault.From(err); f == nil || string(f.Wire.GetJson()) != body {
		t.Errorf("%+v", f)
	}
}

// Only the members that are the gateway's are changed in a caller's own body, and
// the caller's protocol headers go along, behind the operator's.
func TestOwnBodies(t *testing.T) {
	var sent string
	var headers http.Header
	transport := answering(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		sent, headers = string(body), r.Header
		if err != nil || r.ContentLength != int64(len(body)) {
			t.Errorf("%d bytes of %d: %v", len(body), r.ContentLength, err)
		}
		return answered(201, strings.NewReader("data: [DONE]\n\n"))(r)
	})
	req := hello()
	req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Headers: map[string]string{"openai-beta": "b", "x-own": "caller"},
		Json: []byte(`{"stream" : true, "x":1.50,"model":"before","stream_options":{"a":1}}`)}
	u := chat(t, transport, func(c *remote.Config) { c.Headers = map[string]string{"X-Own": "operator"} })
	_ = u.StreamGenerateText(t.Context(), deferred.New(req), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
	for _, part := range []string{`"stream" : true, "x":1.50,"model":"m"`, `"a":1`, `"include_usage":true`} {
		if !strings.Contains(sent, part) {
			t.Errorf("no %s in %s", part, sent)
		}
	}
	if headers.Get("Openai-Beta") != "b" || headers.Get("X-Own") != "operator" || headers.Get("Content-Type") != "application/json" || headers.Get("Authorization") != "Bearer k" {
		t.Errorf("headers %v", headers)
	}
	// Usage that is left to the caller and the upstream leaves the body as it is.
	cancel := chat(t, transport, func(c *remote.Config) { c.LeaveUsage = true })
	_ = cancel.StreamGenerateText(t.Context(), deferred.New(req), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
	if want := `{"stream" : true, "x":1.50,"model":"m","stream_options":{"a":1}}`; sent != want {
		t.Errorf("sent %s, want %s", sent, want)
	}
	// A body of another protocol does not go out, nor do its headers.
	req.Wire.Protocol = genwayv1.Protocol_PROTOCOL_MESSAGES
	_ = u.StreamGenerateText(t.Context(), deferred.New(req), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
	if strings.Contains(sent, "1.50") || headers.Get("Openai-Beta") != "" {
		t.Errorf("sent %s with %v", sent, headers)
	}
}

func TestBrokenTransport(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.7: connection refused")
	u := chat(t, answering(func(*http.Request) (*http.Response, error) { return nil, secret }))
	_, err := u.GenerateText(t.Context(), deferred.New(hello()))
	if f := fault.From(err); f == nil || f.Kind != fault.Unavailable || !errors.Is(err, secret) || strings.Contains(f.Message, "10.0.0.7") {
		t.Errorf("%+v", f)
	}
	cut := io.MultiReader(strings.NewReader(chatAnswer[:40]), failing{secret})
	_, err = chat(t, answered(200, cut)).GenerateText(t.Context(), deferred.New(hello()))
	if f := fault.From(err); f == nil || f.Kind != fault.BadUpstream || f.Reason != fault.ReasonStreamCut {
		t.Errorf("%+v", f)
	}
	_, err = chat(t, answered(200, strings.NewReader(chatAnswer)), func(c *remote.Config) { c.MaxAnswerBytes = 20 }).GenerateText(t.Context(), deferred.New(hello()))
	if f := fault.From(err); f == nil || f.Reason != fault.ReasonMalformedAnswer {
		t.Errorf("%+v", f)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = chat(t, answering(func(r *http.Request) (*http.Response, error) { return nil, r.Context().Err() })).GenerateText(cancelled, deferred.New(hello()))
	if f := fault.From(err); f == nil || f.Kind != fault.Cancelled {
		t.Errorf("%+v", f)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// The operations besides generating have addresses of their own.
func TestOtherAddresses(t *testing.T) {
	const (
		responses = genwayv1.Protocol_PROTOCOL_RESPONSES
		messages  = genwayv1.Protocol_PROTOCOL_MESSAGES
		generate  = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
		images    = genwayv1.Protocol_PROTOCOL_IMAGES
	)
	ask := map[string]func(*remote.Upstream) error{
		"stream": func(u *remote.Upstream) error {
			return u.StreamGenerateText(t.Context(), deferred.New(hello()), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
		},
		"count": func(u *remote.Upstream) error {
			_, err := u.CountTokens(t.Context(), &genwayv1.CountTokensRequest{Request: hello()})
			return err
		},
		"draw": func(u *remote.Upstream) error {
			_, err := u.GenerateImage(t.Context(), &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p"})
			return err
		},
	}
	for _, c := range []struct {
		protocol        genwayv1.Protocol
		base, ask, path string
	}{
		{responses, "/v1", "count", "/v1/responses/input_tokens"},
		{messages, "", "count", "/v1/messages/count_tokens"},
		{messages, "/anthropic/v1", "stream", "/anthropic/v1/messages"},
		{generate, "", "count", "/v1beta/models/m:countTokens"},
		{generate, "/v1", "stream", "/v1/models/m:streamGenerateContent?alt=sse"},
		{images, "", "draw", "/v1/images/generations"},
		{images, "/v1", "draw", "/v1/images/generations"},
	} {
		var path string
		refuse := answering(func(r *http.Request) (*http.Response, error) {
			path = r.URL.RequestURI()
			return answered(503, strings.NewReader(`{}`))(r)
		})
		u := adapter(t, c.protocol, refuse, func(config *remote.Config) { config.BaseURL += c.base })
		if f := fault.From(ask[c.ask](u)); path != c.path || f == nil || f.HTTPStatus() != 503 {
			t.Errorf("%s %s at %q: %s, %+v", c.protocol, c.ask, c.base, path, f)
		}
	}
}
