package sixth_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/gateway"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/test/cases/fake"
	"go.uber.org/goleak"
	"google.golang.org/grpc/health"
)

// entry is all that Genway knows of the made-up protocol.
var entry = protocol.Protocol{
	ID: id, Name: "parrot_talk", Kind: "parrot", KeyGroup: "chat",
	Bindings:      []protocol.Binding{{Operation: protocol.Generate, Method: http.MethodPost, Prefix: "/v3/parrot/talk"}},
	Key:           protocol.Key{Headers: []string{"x-parrot-key"}},
	Version:       protocol.Version{Headers: []string{"parrot-version", "parrot-edition"}, Oldest: "2026-01-01"},
	Stream:        protocol.Framing{Heartbeat: ": squawk\n\n", Comments: true, Batches: true},
	PassedHeaders: []string{"parrot-version", "parrot-beta"},
	AnswerHeaders: []string{"Parrot-Mood"},
	Example:       `{"model":"{{Model}}","say":"Hello."}`,
	Codec:         parrot{},
}

func TestMain(m *testing.M) {
	if err := protocol.Register(&entry); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func TestCases(t *testing.T) {
	for _, c := range []struct {
		id, proves string
		run        func(*testing.T)
	}{
		{"P20", "a protocol that is registered with the table alone is served to its callers, unary and streamed, with its own key, version, headers, errors and losses", asCaller},
		{"P21", "upstreams of a protocol that is registered with the table alone are configured and called, unary and streamed, by its path, key, version and errors", asUpstream},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Attr("proves", c.proves)
			c.run(t)
		})
	}
}

// gatewayOf starts a gateway whose upstreams are a parrot and one of chat completions. Keys
// are named like their group. heartbeat is how often a silent stream gets one; -1 is never.
func gatewayOf(t *testing.T, heartbeat time.Duration) (url string, parrots, chat *fake.Upstream) {
	t.Helper()
	parrots, chat = fake.New(t), fake.New(t)
	file := `
upstreams:
  bird: {kind: parrot, base_url: "` + parrots.URL + `", api_key: seed}
  other: {kind: chat, base_url: "` + chat.URL + `", api_key: k}
routes:
  - {model: bird, protocols: [parrot, chat], targets: [{upstream: bird}]}
  - {model: other, targets: [{upstream: other}]}
`
	read, err := config.Parse("genway.yaml", []byte(file), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]route.Target{}
	for name, u := range read.Upstreams {
		spoken := protocol.ByKind(u.Kind).ID
		transport := remote.NewTransport(remote.Way{})
		t.Cleanup(transport.CloseIdleConnections)
		made, err := remote.New(remote.Config{Protocol: spoken, BaseURL: u.BaseURL, APIKey: u.APIKey, HTTP: transport})
		if err != nil {
			t.Fatal(err)
		}
		targets[name] = route.Target{Name: name, Upstream: made, Protocol: spoken}
	}
	var routes []route.Route
	for _, r := range read.Routes {
		one := route.Route{Model: r.Model, Targets: []route.Target{targets[r.Targets[0].Upstream]}}
		for _, kind := range r.Protocols {
			one.Protocols = append(one.Protocols, protocol.ByKind(kind).ID)
		}
		routes = append(routes, one)
	}
	router := route.New(routes)
	t.Cleanup(func() { _ = router.Close() })
	service, err := core.New(core.Config{Upstream: router})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	joined := core.Channel(service, core.Interceptors{Authenticator: auth.Authenticator{Keys: groupKeys{}, Trust: auth.TrustAll}, Logger: log}, health.NewServer())
	edge, err := gateway.New(gateway.Config{Core: joined, Heartbeat: heartbeat, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(edge)
	t.Cleanup(server.Close)
	return server.URL, parrots, chat
}

type groupKeys struct{}

func (groupKeys) Authenticate(_ context.Context, raw string) (keys.Principal, error) {
	group, err := keys.ParseGroup(raw)
	if err != nil {
		return keys.Principal{}, keys.ErrWrongKey
	}
	return keys.Principal{KeyID: "key_" + raw, Group: group}, nil
}

func post(t *testing.T, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	return send(t, http.MethodPost, url, body, headers...)
}

// send sends a request, with headers as names and values in turn.
func send(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	return resp, string(text)
}

// Headers of a good caller of the made-up protocol, and of chat completions.
var (
	good     = []string{"x-parrot-key", "chat", "parrot-version", "2026-02-03", "parrot-beta", "feathers"}
	goodChat = []string{"Authorization", "Bearer chat"}
)

const (
	chatAnswer = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`
	chatChunk  = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello."},"finish_reason":null}]}`
	chatEnd    = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	chatUsage  = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`
)

func asCaller(t *testing.T) {
	url, _, chat := gatewayOf(t, -1)
	talk := url + "/v3/parrot/talk"

	chat.Answer(fake.JSON(chatAnswer))
	resp, body := post(t, talk, `{"model":"other","say":"Hello."}`, good...)
	if resp.StatusCode != http.StatusOK || body != `{"said":"Hello.","tokens":2}` {
		t.Errorf("unary: %d %s", resp.StatusCode, body)
	}
	if asked := string(chat.Last(t).Body); !strings.Contains(asked, `"content":"Hello."`) {
		t.Errorf("the upstream was asked %s", asked)
	}

	chat.Answer(fake.Stream(fake.Events(chatChunk, chatEnd, chatUsage, "[DONE]")...))
	resp, body = post(t, talk, `{"model":"other","say":"Hello.","stream":true}`, good...)
	if want := "data: {\"said\":\"Hello.\"}\n\ndata: {\"tokens\":2}\n\n"; resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || body != want {
		t.Errorf("stream: %v %q", resp.Header, body)
	}

	for name, c := range map[string]struct {
		status  int
		body    string
		text    string
		headers []string
	}{
		"no key":          {http.StatusUnauthorized, `{"model":"other","say":"x"}`, "no API key was sent; put it into the header x-parrot-key", good[2:]},
		"key of chat's":   {http.StatusUnauthorized, `{"model":"other","say":"x"}`, "authorization is not read here", append(goodChat, good[2:]...)},
		"wrong key":       {http.StatusUnauthorized, `{"model":"other","say":"x"}`, "invalid API key in the header x-parrot-key", append([]string{"x-parrot-key", "wrong"}, good[2:]...)},
		"another group":   {http.StatusForbidden, `{"model":"other","say":"x"}`, "a key of the group chat", append([]string{"x-parrot-key", "messages"}, good[2:]...)},
		"no version":      {http.StatusBadRequest, `{"model":"other","say":"x"}`, "parrot-version: header is required", good[:2]},
		"an old version":  {http.StatusBadRequest, `{"model":"other","say":"x"}`, "send 2026-01-01 or a later date", append([]string{"parrot-version", "2025-01-01"}, good[:2]...)},
		"nothing to say":  {http.StatusBadRequest, `{"model":"other"}`, "say", good},
		"unknown model":   {http.StatusNotFound, `{"model":"none","say":"x"}`, "The model `none` does not exist", good},
		"too much is one": {http.StatusBadRequest, `{"model":7,"say":"x"}`, "model", good},
	} {
		resp, body := post(t, talk, c.body, c.headers...)
		if resp.StatusCode != c.status || !strings.HasPrefix(body, `{"wrong":"`) || !strings.Contains(body, c.text) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}

	// Paths that protocols share are answered in the protocol of the caller's headers.
	for method, status := range map[string]int{http.MethodPost: http.StatusMethodNotAllowed, http.MethodGet: http.StatusNotFound} {
		if resp, body := send(t, method, url+"/v1/models", "", good...); resp.StatusCode != status || !strings.HasPrefix(body, `{"wrong":`) {
			t.Errorf("%s of the list of models: %d %s", method, resp.StatusCode, body)
		}
	}
	// A stream that has begun fails in band.
	chat.Answer(fake.Stream(append(fake.Events(chatChunk), fake.Bytes("data: {\"error\":{\"message\":\"too hot\",\"type\":\"server_error\"}}\n\n"))...))
	if _, body := post(t, talk, `{"model":"other","say":"Hello.","stream":true}`, good...); !strings.HasPrefix(body, "data: {\"said\":\"Hello.\"}\n\ndata: {\"wrong\":") {
		t.Errorf("a failing stream: %q", body)
	}
	heartbeats(t)
}

// heartbeats reads a stream whose upstream goes on only after the caller has seen a heartbeat.
func heartbeats(t *testing.T) {
	t.Helper()
	url, _, chat := gatewayOf(t, 10*time.Millisecond)
	seen := make(chan struct{})
	steps := append(fake.Events(chatChunk), fake.Wait(seen))
	chat.Answer(fake.Stream(append(steps, fake.Events(chatEnd, chatUsage, "[DONE]")...)...))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v3/parrot/talk", strings.NewReader(`{"model":"other","say":"Hello.","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(good); i += 2 {
		req.Header.Set(good[i], good[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	defer resp.Body.Close()
	var last string
	var once sync.Once
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		switch line := lines.Text(); {
		case line == strings.TrimSpace(entry.Stream.Heartbeat):
			once.Do(func() { close(seen) })
		case strings.HasPrefix(line, ":"):
			t.Fatalf("the comment %q is not the heartbeat of the protocol, %q", line, entry.Stream.Heartbeat)
		case line != "":
			last = line
		}
	}
	if last != `data: {"tokens":2}` {
		t.Errorf("the stream ends with %q", last)
	}
}

// hasHeaders fails unless the upstream was asked with the headers, names and values in turn. An empty value is
// that of an absent header.
func hasHeaders(t *testing.T, asked fake.Request, headers ...string) {
	t.Helper()
	for i := 0; i+1 < len(headers); i += 2 {
		if got := asked.Header.Get(headers[i]); got != headers[i+1] {
			t.Errorf("the upstream was asked with %s: %q, want %q", headers[i], got, headers[i+1])
		}
	}
}

func asUpstream(t *testing.T) {
	url, parrots, _ := gatewayOf(t, -1)
	const chatBody = `{"model":"bird","max_tokens":9,"messages":[{"role":"user","content":"Hello."}]`

	parrots.Answer(fake.JSON(`{"said":"Hello.","tokens":2}`))
	resp, body := post(t, url+"/v1/chat/completions", chatBody+"}", goodChat...)
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"content":"Hello."`) || !strings.Contains(body, `"completion_tokens":2`) {
		t.Errorf("unary: %d %s", resp.StatusCode, body)
	}
	if lost := resp.Header.Get("X-Genway-Lost"); lost != "max_tokens" {
		t.Errorf("lost: %q", lost)
	}
	asked := parrots.Last(t)
	if asked.Path != "/v3/parrot/talk" {
		t.Errorf("the upstream was asked at %s, want the path of the table", asked.Path)
	}
	hasHeaders(t, asked, "X-Parrot-Key", "seed", "Parrot-Version", "2026-01-01", "Authorization", "")
	if string(asked.Body) != `{"model":"bird","say":"Hello."}` {
		t.Errorf("the upstream was asked %s", asked.Body)
	}

	parrots.Answer(fake.Stream(fake.Events(`{"said":"Hel"}`, `{"said":"lo."}`, `{"tokens":2}`)...))
	_, body = post(t, url+"/v1/chat/completions", chatBody+`,"stream":true}`, goodChat...)
	if !strings.Contains(body, `"content":"Hel"`) || !strings.Contains(body, `"content":"lo."`) || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("stream: %q", body)
	}

	parrots.Answer(fake.Refusal(http.StatusTooManyRequests, `{"wrong":"too many crackers"}`, "Retry-After", "3"))
	resp, body = post(t, url+"/v1/chat/completions", chatBody+"}", goodChat...)
	if resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "too many crackers") || !strings.Contains(body, `"error"`) || resp.Header.Get("Retry-After") != "3" {
		t.Errorf("a refusal: %d %v %s", resp.StatusCode, resp.Header, body)
	}

	// To callers of the same protocol the bytes pass through, with the headers that go with
	// them.
	const own = `{"said":"Hello.","tokens":2,"plumage":"green"}`
	parrots.Answer(fake.Refusal(http.StatusOK, own, "Parrot-Mood", "good", "Parrot-Owner", "secret"))
	resp, body = post(t, url+"/v3/parrot/talk", `{"model":"bird","say":"Hello.","wings":2}`, good...)
	if body != own {
		t.Errorf("pass-through: %d %s, want %s", resp.StatusCode, body, own)
	}
	if mood, owner := resp.Header.Get("Parrot-Mood"), resp.Header.Get("Parrot-Owner"); mood != "good" || owner != "" {
		t.Errorf("the caller got Parrot-Mood: %q and Parrot-Owner: %q, want AnswerHeaders alone", mood, owner)
	}
	asked = parrots.Last(t)
	if string(asked.Body) != `{"model":"bird","say":"Hello.","wings":2}` {
		t.Errorf("the upstream was asked %s, want the caller's body", asked.Body)
	}
	hasHeaders(t, asked, "Parrot-Beta", "feathers", "Parrot-Version", "2026-02-03")
	// The upstream gets the version in the first of its headers, whichever the caller uses.
	parrots.Answer(fake.JSON(own))
	post(t, url+"/v3/parrot/talk", `{"model":"bird","say":"Hello."}`, "x-parrot-key", "chat", "parrot-edition", "2026-03-04")
	hasHeaders(t, parrots.Last(t), "Parrot-Version", "2026-03-04")
	const frames = "data: {\"said\":\"Hello.\",\"plumage\":1}\n\ndata: {\"tokens\":2}\n\n"
	parrots.Answer(fake.Stream(fake.Bytes(frames)))
	if _, body := post(t, url+"/v3/parrot/talk", `{"model":"bird","say":"Hello.","stream":true}`, good...); body != frames {
		t.Errorf("a stream that passes through: %q", body)
	}
	parrots.Answer(fake.Refusal(http.StatusTeapot, `{"wrong":"a parrot, not a pot"}`))
	if resp, body := post(t, url+"/v3/parrot/talk", `{"model":"bird","say":"Hello."}`, good...); resp.StatusCode != http.StatusTeapot || body != `{"wrong":"a parrot, not a pot"}` {
		t.Errorf("a refusal that passes through: %d %s", resp.StatusCode, body)
	}
}

// The configuration knows the kind as it knows all others.
func TestConfiguration(t *testing.T) {
	for file, want := range map[string]string{
		`upstreams: {b: {kind: parrots, base_url: "http://h"}}`:                     "parrot",
		`upstreams: {b: {kind: parrot, base_url: "http://h/v3/parrot/talk"}}`:       "parrot/talk is called behind base_url",
		`upstreams: {b: {kind: parrot, base_url: "http://h", stream_usage: leave}}`: "an upstream of kind parrot has none",
	} {
		_, err := config.Parse("genway.yaml", []byte(file+"\nroutes: [{model: \"*\", targets: [{upstream: sandbox}]}]\n"), func(string) (string, bool) { return "", false })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
