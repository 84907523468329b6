package spec_test

import (
	"encoding/base64"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/wire"
)

// foreignOperations are the operations at the edge in front of the core in another language.
func foreignOperations(t *testing.T) []operation {
	t.Helper()
	if ways.ByKind[server.ForeignCore] == nil {
		t.Skip("SKIPPED: no Python with gRPC: docs/examples/server-python was not tested")
	}
	return through(server.ForeignCore)
}

// tools adds a tool to the body of an operation, and says where its call stands in the answer.
var tools = map[string]struct {
	name, call string
	member     any
}{
	"chat completion":    {"tools", "choices[0].message.tool_calls[0].function.name", []object{{"type": "function", "function": object{"name": "clock", "parameters": object{"type": "object"}}}}},
	"response creation":  {"tools", "output[0].name", []object{{"type": "function", "name": "clock", "parameters": object{"type": "object"}}}},
	"message creation":   {"tools", "content[0].name", []object{{"name": "clock", "input_schema": object{"type": "object"}}}},
	"content generation": {"tools", "candidates[0].content.parts[0].functionCall.name", []object{{"functionDeclarations": []object{{"name": "clock"}}}}},
}

// TestForeignTools: tools reach a core by the typed contract, and its calls reach the caller, whole
// and streamed.
func TestForeignTools(t *testing.T) {
	t.Parallel()
	for _, op := range foreignOperations(t) {
		offered, ok := tools[op.name]
		if !ok {
			continue
		}
		body := op.body()
		body[offered.name] = offered.member
		a := send(t, "POST", op.path, op.headers(), body)
		check.Equal(t, op.name, a.status, 200)
		check.Equal(t, "the tool that is called by "+op.name, text(t, a, offered.call), "clock")
		path := strings.Replace(op.path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
		if path == op.path {
			body["stream"] = true
		}
		a = send(t, "POST", path, op.headers(), body)
		check.Truef(t, a.status == 200 && strings.Contains(a.raw, `"clock"`), "stream of %s: %d: %s", op.name, a.status, wire.Clip(a.raw))
	}
}

// TestForeignImages: an image in a conversation reaches a core by the typed contract.
func TestForeignImages(t *testing.T) {
	t.Parallel()
	data := base64.StdEncoding.EncodeToString([]byte("twelve bytes"))
	reasons := map[string]object{
		"chat completion": {"messages": []object{{"role": "user", "content": []object{
			{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": object{"url": "data:image/png;base64," + data}},
		}}}},
		"response creation": {"input": []object{{"role": "user", "content": []object{
			{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": "data:image/png;base64," + data},
		}}}},
		"message creation": {"messages": []object{{"role": "user", "content": []object{
			{"type": "text", "text": "What is it?"}, {"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": data}},
		}}}},
		"content generation": {"contents": []object{{"role": "user", "parts": []object{
			{"text": "What is it?"}, {"inlineData": object{"mimeType": "image/png", "data": data}},
		}}}},
	}
	for _, op := range foreignOperations(t) {
		members, ok := reasons[op.name]
		if !ok {
			continue
		}
		body := op.body()
		maps.Copy(body, members)
		a := send(t, "POST", op.path, op.headers(), body)
		check.Contains(t, text(t, a, replyOf(op.name)), "[image/png, 12 bytes]")
	}
}

// TestForeignErrors: a refusal of a core by the typed contract is an error of the caller's protocol.
func TestForeignErrors(t *testing.T) {
	t.Parallel()
	for _, op := range foreignOperations(t) {
		wrong := op.headers()
		for name, value := range wrong {
			if strings.Contains(value, "gwk") || strings.Contains(name, "Key") || name == "Authorization" {
				wrong[name] = value + "x"
			}
		}
		a := send(t, "POST", op.path, wrong, op.body())
		check.Equal(t, "status of a wrong key, "+op.name, a.status, http.StatusUnauthorized)
		native(t, op.name, a)
		body, path := op.body(), strings.Replace(op.path, "sandbox-text", "nothing", 1)
		if path == op.path {
			body["model"] = "nothing"
		}
		for _, streamed := range []bool{false, true} {
			if streamed && path == op.path {
				body["stream"] = true
			}
			a = send(t, "POST", path, op.headers(), body)
			check.Equal(t, "status of an unknown model, "+op.name, a.status, http.StatusNotFound)
			native(t, op.name, a)
			check.Contains(t, a.raw, "nothing")
		}
	}
}
