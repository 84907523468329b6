package spec_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
)

// TestUnknownPaths: a 404 in JSON, in the shape of the protocol that the key or the
// path shows, with a hint for a doubled prefix.
func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, like string
		headers    headers
	}{
		{"/v1/embeddings", "chat completion", chatHeaders()},
		{"/v1/chat", "chat completion", chatHeaders()},
		{"/v1/chat/completions/", "chat completion", chatHeaders()},
		{"/v1/v1/chat/completions", "chat completion", chatHeaders()},
		{"/chat/completions", "chat completion", chatHeaders()},
		{"/v1/messages/batches", "message creation", messagesHeaders()},
		{"/v1/v1/messages", "message creation", messagesHeaders()},
		{"/v1beta/v1beta/models/sandbox-text:generateContent", "content generation", geminiHeaders()},
		{"/v1beta/files", "content generation", geminiHeaders()},
		{"/genway.v1.Generation/GenerateText", "chat completion", chatHeaders()},
		{"/v1/chat/completions:stream", "chat completion", chatHeaders()},
		{"/nowhere", "chat completion", headers{}},
	} {
		a := send(t, "POST", c.path, c.headers, object{})
		check.Equal(t, "status of "+c.path, a.status, 404)
		native(t, c.like, a)
		if strings.HasPrefix(c.path, "/v1/v1") || strings.HasPrefix(c.path, "/v1beta/v1beta") {
			check.Contains(t, a.raw, "base URL")
		}
	}
}

// TestWrongMethods: 405 with Allow.
func TestWrongMethods(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, op operation) {
		for _, method := range []string{"GET", "PUT", "DELETE", "PATCH"} {
			a := send(t, method, op.path, op.headers(), nil)
			check.Equal(t, method, a.status, 405)
			check.Equal(t, "Allow", a.header.Get("Allow"), "POST")
			nativeOf(t, op, a)
		}
	})
	for path, allow := range map[string]string{"/v1/models": "GET", "/v1/models/sandbox-text": "GET", "/v1beta/models": "GET", "/healthz": "GET, HEAD"} {
		a := send(t, "DELETE", path, chatHeaders(), nil)
		check.Equal(t, path, a.status, 405)
		check.Equal(t, "Allow", a.header.Get("Allow"), allow)
	}
}

// TestMethodOverride: no header turns one method into another.
func TestMethodOverride(t *testing.T) {
	t.Parallel()
	op := operations()[0]
	a := send(t, "GET", op.path, op.headers().with("X-Http-Method-Override", "POST"), nil)
	check.Equal(t, "status", a.status, 405)
}

// TestProbes need no key.
func TestProbes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, path string }{{"HEAD", "/"}, {"GET", "/"}, {"GET", "/healthz"}, {"HEAD", "/healthz"}} {
		a := send(t, c.method, c.path, nil, nil)
		check.Equal(t, c.method+" "+c.path, a.status, 200)
		if c.method == "HEAD" {
			check.Equal(t, "body of "+c.path, a.raw, "")
		}
	}
}

// TestWebSocketUpgrade: 426 for a version of the protocol that the server does not speak, on which a client falls back to POST at once.
func TestWebSocketUpgrade(t *testing.T) {
	t.Parallel()
	a := send(t, "GET", "/v1/responses", chatHeaders().with("Connection", "Upgrade").with("Upgrade", "websocket").
		with("Sec-Websocket-Version", "8").with("Sec-Websocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), nil)
	check.Equal(t, "status", a.status, 426)
	native(t, "response creation", a)
}

// TestRequestIDs: each answer names its request, by a new identifier and under each name that the
// SDKs read.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, op operation) {
		first, second := send(t, "POST", op.path, op.headers(), op.body()), send(t, "POST", op.path, op.headers(), op.body())
		for _, name := range []string{"X-Request-Id", "Request-Id"} {
			check.Truef(t, first.header.Get(name) != "" && first.header.Get(name) != second.header.Get(name),
				"%s is %q, then %q", name, first.header.Get(name), second.header.Get(name))
		}
	})
}

// TestModelLists: one path, three shapes, by the header the key comes in.
func TestModelLists(t *testing.T) {
	t.Parallel()
	const (
		chat = `
			object                      string   list
			data                        array
		`
		messages = `
			data                        array
			has_more                    boolean  false
			first_id                    string
			last_id                     string
		`
		gemini    = `models                      array`
		chatModel = `
			id                          string   sandbox-text
			object                      string   model
			created                     integer
			owned_by                    string   genway
		`
		messagesModel = `
			type                        string   model
			id                          string   sandbox-text
			display_name                string
			created_at                  string
		`
		geminiModel = `
			name                        string   models/sandbox-text
			displayName                 string
			supportedGenerationMethods  array
			inputTokenLimit             integer
			outputTokenLimit            integer
		`
	)
	google := headers{"X-Goog-Api-Key": keys()["generatecontent"]}
	newest := headers{"Authorization": "Bearer " + keys()["messages"], "Anthropic-Version": "2026-10-21"}
	for name, c := range map[string]struct {
		path        string
		headers     headers
		list, model string
	}{
		"bearer":             {"/v1/models", chatHeaders(), chat, chatModel},
		"x-api-key":          {"/v1/models", messagesHeaders(), messages, messagesModel},
		"bearer and version": {"/v1/models", newest, messages, messagesModel},
		"x-vendorc-api-key":  {"/v1/models", geminiHeaders(), gemini, geminiModel},
		"x-goog-api-key":     {"/v1/models", google, gemini, geminiModel},
		"v1beta":             {"/v1beta/models", google, gemini, geminiModel},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := send(t, "GET", c.path, c.headers, nil)
			check.Equal(t, "status", a.status, 200)
			holds(t, a, c.list)
			check.Contains(t, a.raw, "sandbox-text", "sandbox-image")
			one := send(t, "GET", c.path+"/sandbox-text", c.headers, nil)
			check.Equal(t, "status", one.status, 200)
			holds(t, one, c.model)
			unknown := send(t, "GET", c.path+"/no-such-model", c.headers, nil)
			check.Equal(t, "status", unknown.status, 404)
			check.Contains(t, unknown.raw, "no-such-model")
		})
	}
	query := "?key=" + keys()["generatecontent"]
	holds(t, send(t, "GET", "/v1beta/models"+query, nil, nil), gemini)
	holds(t, send(t, "GET", "/v1/models"+query, nil, nil), gemini)
}
