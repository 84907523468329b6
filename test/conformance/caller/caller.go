// Package caller makes requests as clients of all protocols do: chat, responses,
// messages and generateContent over HTTP, and grpc straight to the core, unary and
// streamed. It distinguishes complete answers from others.
//
// It must not import the gateway's own packages: what gRPC needs it asks the server by
// reflection.
package caller

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Call is one request.
type Call struct {
	// Protocol is chat, responses, messages, generatecontent or grpc.
	Protocol string
	Stream   bool
	Model    string
	// Key is the caller's, of the protocol's group.
	Key string
	// KeyInURL puts the key into the URL instead of a header.
	KeyInURL bool
	// Prompt is what is asked. Default: Say hello.
	Prompt string
	// MaxTokens bounds the answer; 0 does not, but for messages, which needs a bound: 64.
	MaxTokens int
	// Members are more of the body, each with a comma after it.
	Members string
	// Broken makes a body that is no JSON.
	Broken bool
}

// Seen is what a caller saw.
type Seen struct {
	// Status is HTTP's; a direct caller's is translated: 200, or 500 for any error.
	Status int
	// Whole says that the answer came to its end, as its protocol marks it.
	Whole bool
	// Cut says that the connection broke before HTTP's end of the answer.
	Cut bool
	// Body is all of the answer, or a direct caller's error.
	Body string
	// Header is HTTP's.
	Header http.Header
}

// Text returns the protocols that generate text over HTTP.
func Text() []string { return []string{"chat", "responses", "messages", "generatecontent"} }

// Group is the group of keys that serves a protocol.
func Group(protocol string) string {
	switch protocol {
	case "responses":
		return "chat"
	case "grpc":
		return "internal"
	}
	return protocol
}

// Client makes calls to one gateway. Its methods are safe for concurrent use.
type Client struct {
	url    string
	http   *http.Client
	direct *direct
}

// New makes a client of a gateway: the base URL of its JSON side and the target of its
// gRPC side. The caller closes it.
func New(url, target string) (*Client, error) {
	d, err := dial(target)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	if usual, ok := http.DefaultTransport.(*http.Transport); ok { // as server.Main has set it
		transport.Protocols, transport.TLSClientConfig = usual.Protocols, usual.TLSClientConfig.Clone()
	}
	return &Client{url: url, http: &http.Client{Transport: transport}, direct: d}, nil
}

// KeepIdle bounds how long a connection without a request is kept for the next one. Default: no
// bound. It is called before the first call.
func (c *Client) KeepIdle(d time.Duration) {
	if transport, ok := c.http.Transport.(*http.Transport); ok {
		transport.IdleConnTimeout = d
	}
}

// Close ends the client's connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return c.direct.Close()
}

// Do makes a call and reads the answer to its end, or to where it breaks off. An error
// is a server that cannot be reached, or a context that has ended before the answer
// began.
func (c *Client) Do(ctx context.Context, call Call) (Seen, error) {
	if call.Protocol == "grpc" {
		return c.direct.do(ctx, call)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path(call), strings.NewReader(body(call)))
	if err != nil {
		return Seen{}, err
	}
	setHeaders(req.Header, call)
	resp, err := c.http.Do(req)
	if err != nil {
		return Seen{}, err
	}
	defer resp.Body.Close()
	seen := Seen{Status: resp.StatusCode, Header: resp.Header}
	text, err := io.ReadAll(resp.Body)
	seen.Body, seen.Cut = string(text), err != nil
	seen.Whole = err == nil && resp.StatusCode == http.StatusOK && whole(call, text)
	return seen, nil
}

func path(call Call) string {
	p := map[string]string{"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}[call.Protocol]
	query := ""
	if call.Protocol == "generatecontent" {
		p = "/v1beta/models/" + call.Model + ":generateContent"
		if call.Stream {
			p, query = "/v1beta/models/"+call.Model+":streamGenerateContent", "?alt=sse"
		}
	}
	if call.KeyInURL {
		query += map[bool]string{true: "?", false: "&"}[query == ""] + "key=" + call.Key
	}
	return p + query
}

func body(call Call) string {
	if call.Broken {
		return `{"model":"` + call.Model + `","messages":`
	}
	prompt := call.Prompt
	if prompt == "" {
		prompt = "Say hello."
	}
	bound := func(name string) string {
		if call.MaxTokens == 0 {
			return ""
		}
		return fmt.Sprintf(`%q:%d,`, name, call.MaxTokens)
	}
	head := fmt.Sprintf(`{"model":%q,"stream":%t,`, call.Model, call.Stream) + call.Members
	turn := fmt.Sprintf(`[{"role":"user","content":%q}]}`, prompt)
	switch call.Protocol {
	case "responses":
		return head + bound("max_output_tokens") + `"input":` + turn
	case "messages":
		call.MaxTokens = cmp.Or(call.MaxTokens, 64)
		return head + bound("max_tokens") + `"messages":` + turn
	case "generatecontent":
		config := strings.TrimSuffix(bound("maxOutputTokens"), ",")
		return fmt.Sprintf(`{"generationConfig":{`+config+`},"contents":[{"role":"user","parts":[{"text":%q}]}]}`, prompt)
	}
	return head + bound("max_completion_tokens") + `"messages":` + turn
}

func setHeaders(h http.Header, call Call) {
	h.Set("Content-Type", "application/json")
	if call.Protocol == "messages" {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	switch {
	case call.KeyInURL:
	case call.Protocol == "messages":
		h.Set("X-Api-Key", call.Key)
	case call.Protocol == "generatecontent":
		h.Set("X-Goog-Api-Key", call.Key)
	default:
		h.Set("Authorization", "Bearer "+call.Key)
	}
}

// whole looks for the protocol's mark of an answer's end.
func whole(call Call, text []byte) bool {
	if !call.Stream {
		return json.Valid(text)
	}
	last, failed := "", false
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			last = data
			failed = failed || strings.HasPrefix(data, `{"error":`)
		}
	}
	switch call.Protocol {
	case "responses":
		return strings.Contains(last, `"response.completed"`)
	case "messages":
		return strings.Contains(last, `"message_stop"`)
	case "generatecontent":
		return strings.Contains(last, `"STOP"`)
	}
	return last == "[DONE]" && !failed // [DONE] closes a stream that failed as well
}
