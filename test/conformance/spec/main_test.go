// Package spec_test holds a running gateway to the interface specification with
// plain net/http: every row of its tables (names, JSON types, presence), its header
// names, addresses and keys, and what the protocols demand of failures. What upstreams
// bear on is demanded of the sandbox, of the sandbox behind each kind of upstream, and of a core
// in another language behind the edge (docs/examples/server-python).
package spec_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/wire"
)

var ways *server.Ways

func TestMain(m *testing.M) { server.MainWays(m, &ways, server.AddForeignCore) }

// keys are the same for all gateways.
func keys() map[string]string { return ways.ByKind["sandbox"].Keys }

// headers are a request's headers by name.
type headers map[string]string

// with is a copy with one more header; an empty value takes it away.
func (h headers) with(name, value string) headers {
	out := headers{name: value}
	for n, v := range h {
		if !strings.EqualFold(n, name) {
			out[n] = v
		}
	}
	return out
}

// answer is an answer, read to its end.
type answer struct {
	status int
	header http.Header
	raw    string
	// body is the JSON body, numbers as json.Number; nil when it is none.
	body any
}

// send makes one request, to the sandbox's gateway unless the path is a whole URL. A body
// that is a string is sent as it is, anything else as JSON, nil is no body.
func send(t *testing.T, method, path string, h headers, body any) answer {
	t.Helper()
	a, err := try(t.Context(), method, path, h, body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// try is send for goroutines other than the test's.
func try(ctx context.Context, method, path string, h headers, body any) (answer, error) {
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return answer{}, err
		}
		content = bytes.NewReader(raw)
	}
	if strings.HasPrefix(path, "/") {
		path = ways.ByKind["sandbox"].URL() + path
	}
	req, err := http.NewRequestWithContext(ctx, method, path, content)
	if err != nil {
		return answer{}, err
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range h {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	client := http.DefaultClient
	if h["Upgrade"] != "" { // HTTP/2 has none (RFC 9113, section 8.2.2)
		client = server.HTTP1()
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	if doc, err := wire.Decode(a.raw); err == nil {
		a.body = doc
	}
	return a, nil
}

// object is a JSON object.
type object = map[string]any

// operation is one of the specification's operations as it stands there.
type operation struct {
	name, path string
	headers    func() headers
	body       func() object
	// kind is that of the upstream; empty is the sandbox, without another gateway.
	kind string
}

// forms are whether a request asks for a stream. There is no stream of images in the specification.
func (op operation) forms() []bool {
	if op.name == "image generation" {
		return []bool{false}
	}
	return []bool{false, true}
}

// asking returns the path and the body that ask a model of text, or of images, for an answer of a form.
func (op operation) asking(model string, streamed bool) (path string, body object) {
	body, path = op.body(), strings.Replace(op.path, "sandbox-text", model, 1)
	switch {
	case op.name == "content generation" && streamed:
		path = strings.Replace(path, ":generateContent", ":streamGenerateContent", 1) + "?alt=sse"
	case op.name == "content generation":
	default:
		body["model"] = model
		if streamed {
			body["stream"] = true
		}
	}
	return path, body
}

func chatHeaders() headers   { return headers{"Authorization": "Bearer " + keys()["chat"]} }
func geminiHeaders() headers { return headers{"X-Vendorc-Api-Key": keys()["generatecontent"]} }
func messagesHeaders() headers {
	return headers{"X-Api-Key": keys()["messages"], "Vendorb-Version": "2023-06-01"}
}

func user(text string) []object { return []object{{"role": "user", "content": text}} }

// operations are the five, each with the specification's own fields.
func operations() []operation {
	return []operation{
		{"chat completion", "/v1/chat/completions", chatHeaders, func() object {
			return object{"model": "sandbox-text", "messages": user("Say hello.")}
		}, ""},
		{"response creation", "/v1/responses", chatHeaders, func() object {
			return object{"model": "sandbox-text", "input": "Say hello."}
		}, ""},
		{"image generation", "/v1/images/generations", chatHeaders, func() object {
			return object{
				"model": "sandbox-image", "prompt": "A red fox", "size": "256x256", "n": 1,
				"quality": "low", "output_format": "png",
			}
		}, ""},
		{"message creation", "/v1/messages", messagesHeaders, func() object {
			return object{"model": "sandbox-text", "max_tokens": 500, "messages": user("Say hello.")}
		}, ""},
		{"content generation", "/v1beta/models/sandbox-text:generateContent", geminiHeaders, func() object {
			return object{
				"contents":         []object{{"role": "user", "parts": []object{{"text": "Say hello."}}}},
				"generationConfig": object{"thinkingConfig": object{"thinkingBudget": 0, "includeThoughts": false}},
			}
		}, ""},
	}
}

// through returns the operations at the gateway whose upstream is of the kind: their paths
// are whole URLs.
func through(kind string) []operation {
	all := operations()
	for i := range all {
		all[i].path, all[i].kind = ways.ByKind[kind].URL()+all[i].path, kind
	}
	return all
}

// eachWay runs a test for the sandbox, for each kind of upstream, and for a core in another
// language where there is one.
func eachWay(t *testing.T, test func(*testing.T, []operation)) {
	t.Helper()
	kinds := append(server.Kinds(), "sandbox")
	if ways.ByKind[server.ForeignCore] != nil {
		kinds = append(kinds, server.ForeignCore)
	}
	by(t, kinds, test)
}

// eachSandbox runs a test of what the sandbox does on demand: for it, and for it behind each
// kind of upstream.
func eachSandbox(t *testing.T, test func(*testing.T, operation)) {
	t.Helper()
	by(t, append(server.Kinds(), "sandbox"), func(t *testing.T, all []operation) { eachOf(t, all, test) })
}

func by(t *testing.T, kinds []string, test func(*testing.T, []operation)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, through(kind))
		})
	}
}

// each runs a test for each operation, by each way.
func each(t *testing.T, test func(*testing.T, operation)) {
	t.Helper()
	eachWay(t, func(t *testing.T, all []operation) { eachOf(t, all, test) })
}

func eachOf(t *testing.T, all []operation, test func(*testing.T, operation)) {
	t.Helper()
	for _, op := range all {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			test(t, op)
		})
	}
}
