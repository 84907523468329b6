package spec_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/wire"
)

// nativeOf is native for a failure of an operation. A failure that an upstream reported in the
// caller's protocol passes as it is, with the upstream's request_id in its body.
func nativeOf(t *testing.T, op operation, a answer) {
	t.Helper()
	if op.kind == "messages" && op.name == "message creation" && a.header.Get("X-Genway-Upstream") != "" {
		holds(t, a, "request_id  string")
		native(t, "passed message creation", a)
		return
	}
	native(t, op.name, a)
}

// native demands the protocol's own error body and a request id.
func native(t *testing.T, operation string, a answer) {
	t.Helper()
	check.Truef(t, a.status >= 400, "status is %d", a.status)
	check.Equal(t, "content type", mediaType(a), "application/json")
	check.Truef(t, a.header.Get("X-Request-ID") != "" && a.header.Get("Request-Id") != "", "no request id: %v", a.header)
	switch operation {
	case "passed message creation":
		holds(t, a, `
			type           string  error
			error.type     string
			error.message  string`)
	case "message creation":
		holds(t, a, `
			type           string  error
			error.type     string
			error.message  string
			request_id     string  `+a.header.Get("Request-Id"))
	case "content generation":
		holds(t, a, `
			error.message  string
			error.status   string
			error.code     integer  `+strconv.Itoa(a.status))
	default:
		holds(t, a, `
			error.message  string
			error.type     string
			error.param    string|null
			error.code     string|null
		`)
	}
	message, _ := wire.Lookup(a.body, "error.message")
	check.Truef(t, message != "", "no message: %s", a.raw)
}

// TestMissingMembers: each required member's absence is a 400 that names it.
func TestMissingMembers(t *testing.T) {
	t.Parallel()
	required := map[string][]string{
		"chat completion":    {"model", "messages"},
		"response creation":  {"model", "input"},
		"image generation":   {"model", "prompt"},
		"message creation":   {"model", "max_tokens", "messages"},
		"content generation": {"contents"},
	}
	each(t, func(t *testing.T, op operation) {
		for _, member := range required[op.name] {
			body := op.body()
			delete(body, member)
			a := send(t, "POST", op.path, op.headers(), body)
			check.Equal(t, "status without "+member, a.status, 400)
			nativeOf(t, op, a)
			check.Contains(t, a.raw, member)
		}
	})
}

// TestWrongTypes: a member of the wrong type is a 400 that names it.
func TestWrongTypes(t *testing.T) {
	t.Parallel()
	wrong := map[string]map[string]any{
		"chat completion": {
			"model": 7, "messages": "Hi.", "temperature": "hot", "n": "two", "stream": "yes", "tools": object{},
			"stop": 7, "max_tokens": 1.5, "metadata": []any{1},
		},
		"response creation": {
			"model": []any{}, "input": 7, "max_output_tokens": "many", "stream": 1, "tools": "none", "reasoning": "high",
		},
		"image generation": {"model": nil, "prompt": 7, "size": 512, "n": "two", "quality": 1, "output_format": true},
		"message creation": {
			"model": object{}, "max_tokens": "many", "messages": object{}, "system": 7, "stop_sequences": "END", "thinking": "yes",
		},
		"content generation": {"contents": "Hi.", "generationConfig": "hot", "systemInstruction": 7, "tools": "none"},
	}
	each(t, func(t *testing.T, op operation) {
		for member, value := range wrong[op.name] {
			body := op.body()
			body[member] = value
			a := send(t, "POST", op.path, op.headers(), body)
			check.Equal(t, "status with a wrong "+member, a.status, 400)
			nativeOf(t, op, a)
			check.Contains(t, a.raw, member)
		}
	})
}

// TestMalformedBodies: what is no JSON object is a 400.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, op operation) {
		for _, body := range []string{
			"", " ", "{", `{"model":`, "[]", `"model"`, "null", "7", "{'model': 'x'}", `{"model":"a",}`, `{"model":"a"} {}`,
			`{"model":"a","model":"b"}`, "\ufeff{}", `{"model":"\u12"}`, strings.Repeat("[", 20000), strings.Repeat(`{"a":`, 20000),
		} {
			a := send(t, "POST", op.path, op.headers(), body)
			if a.status != 400 {
				t.Errorf("status is %d for %.40q", a.status, body)
			}
			nativeOf(t, op, a)
		}
	})
}

// TestUnknownModel is a 404 in every protocol.
func TestUnknownModel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, op operation) {
		body, path := op.body(), strings.Replace(op.path, "sandbox-text", "no-such-model", 1)
		if _, ok := body["model"]; ok {
			body["model"] = "no-such-model"
		}
		a := send(t, "POST", path, op.headers(), body)
		check.Equal(t, "status", a.status, 404)
		nativeOf(t, op, a)
		check.Contains(t, a.raw, "no-such-model")
	})
}

// TestModelOfTheOtherKind: text from the image model, and the other way around.
func TestModelOfTheOtherKind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, op operation) {
		body, path := op.body(), strings.Replace(op.path, "sandbox-text", "sandbox-image", 1)
		switch body["model"] {
		case "sandbox-text":
			body["model"] = "sandbox-image"
		case "sandbox-image":
			body["model"] = "sandbox-text"
		}
		a := send(t, "POST", path, op.headers(), body)
		check.Equal(t, "status", a.status, 400)
		nativeOf(t, op, a)
	})
}

// TestUpstreamFailures: the sandbox fails on demand; the answer says when to come
// back where that is known, streamed or not.
func TestUpstreamFailures(t *testing.T) {
	t.Parallel()
	statuses := map[string]int{
		"sandbox-rate-limit": 429, "sandbox-quota": 429, "sandbox-error": 500, "sandbox-garbage": 502,
		"sandbox-overload": 503, "sandbox-unavailable": 503, "sandbox-timeout": 504,
	}
	eachSandbox(t, func(t *testing.T, op operation) {
		for model, status := range statuses {
			if model == "sandbox-overload" && op.name == "message creation" {
				status = 529
			}
			for _, streamed := range op.forms() {
				path, body := op.asking(model, streamed)
				a := send(t, "POST", path, op.headers(), body)
				check.Equal(t, "status of "+model, a.status, status)
				nativeOf(t, op, a)
				if model == "sandbox-rate-limit" || model == "sandbox-unavailable" {
					check.Equal(t, "Retry-After", a.header.Get("Retry-After"), "2")
				}
			}
		}
	})
}

// TestTextsThatAreNotUnicode: half of a surrogate pair, and bytes that are no UTF-8, are a 400 that names the member, streamed
// or not.
func TestTextsThatAreNotUnicode(t *testing.T) {
	t.Parallel()
	members := map[string]string{
		"chat completion": "messages[0].content", "response creation": "input", "image generation": "prompt",
		"message creation": "messages[0].content", "content generation": "contents[0].parts[0].text",
	}
	eachSandbox(t, func(t *testing.T, op operation) {
		for _, text := range []string{`\ud83d`, `a\ude00\ud83db`, "\xf0\x9f", "\xed\xa0\xbd\xed\xb8\x80"} {
			for _, streamed := range op.forms() {
				path, asked := op.asking("sandbox-text", streamed)
				body, err := json.Marshal(asked)
				if err != nil {
					t.Fatal(err)
				}
				a := send(t, "POST", path, op.headers(), strings.NewReplacer("Say hello.", text, "A red fox", text).Replace(string(body)))
				check.Equal(t, "status of "+strconv.Quote(text), a.status, 400)
				nativeOf(t, op, a)
				check.Contains(t, a.raw, members[op.name])
			}
		}
	})
}
