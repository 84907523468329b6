package openresponses

import (
	"net/http"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/wire"
)

const model = "sandbox-text"

// dot is a PNG of one pixel.
const dot = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

func message(role string, content any) object {
	return object{"type": "message", "role": role, "content": content}
}

// conversations are what the specification's clients send.
func conversations() map[string]object {
	return map[string]object{
		"text":   {"model": model, "input": []object{message("user", "Say hello.")}},
		"string": {"model": model, "input": "Say hello."},
		"system": {"model": model, "input": []object{message("system", "You are a pirate."), message("user", "Say hello.")}},
		"turns":  {"model": model, "input": []object{message("user", "I am Ada."), message("assistant", "Hello Ada."), message("user", "Who am I?")}},
		"phases": {"model": model, "input": []object{
			{"type": "message", "role": "assistant", "phase": "commentary", "content": "I look it up."},
			{"type": "message", "role": "assistant", "phase": "final_answer", "content": "It is four."},
			message("user", "What is it?"),
		}},
		"image": {"model": model, "input": []object{message("user", []object{
			{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": dot},
		})}},
		"settings": {
			"model": model, "input": "Say hello.", "instructions": "Be brief.", "temperature": 0.5, "top_p": 0.9, "max_output_tokens": 500,
			"metadata": object{"a": "1"}, "safety_identifier": "s", "prompt_cache_key": "k", "store": true, "background": false,
		},
	}
}

// TestResponseObjects: all members that must be there are there, with the right types.
func TestResponseObjects(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		for name, body := range conversations() {
			t.Run(name, func(t *testing.T) { whole(t, kind, body) })
		}
	})
}

// tools are function tools with and without the members that are optional in requests.
func tools() []object {
	schema := object{"type": "object", "properties": object{"city": object{"type": "string"}}, "required": []string{"city"}}
	return []object{
		{"type": "function", "name": "weather", "description": "The weather of a city.", "parameters": schema},
		{"type": "function", "name": "bare", "parameters": object{"type": "object", "properties": object{}}},
		{"type": "function", "name": "lax", "description": "d", "parameters": schema, "strict": false},
	}
}

// call is the only function call among items. A reasoning item may stand before it, which
// brings the signature of the call back to its upstream.
func call(t *testing.T, document any, member string) any {
	t.Helper()
	output, _ := wire.Lookup(document, member)
	items, _ := output.([]any)
	var calls []any
	for _, item := range items {
		if wire.Text(item, "type") == "function_call" {
			calls = append(calls, item)
		}
	}
	if len(calls) != 1 {
		t.Fatalf("%d calls: %v", len(calls), items)
	}
	return calls[0]
}

// TestToolCalls: the call is an item, and the tools are repeated with all members.
func TestToolCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		doc := whole(t, kind, object{"model": model, "tools": tools(), "input": `Call the tool weather with {"city":"Paris"}.`})
		check.Equal(t, "name of the call", wire.Text(call(t, doc, "output"), "name"), "weather")
		check.Equal(t, "name of the tool", wire.Text(doc, "tools[1].name"), "bare")
	})
}

// TestStoreIsTold: a response says whether it is stored, which is as it was asked for, whichever upstream answers.
func TestStoreIsTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		for _, asked := range []bool{true, false} {
			doc := whole(t, kind, object{"model": model, "input": "Say hello.", "store": asked})
			stored, _ := wire.Lookup(doc, "store")
			check.Equal(t, "store", stored, any(asked))
		}
	})
}

// TestUnfinishedResponses: an answer that was cut has all members, too.
func TestUnfinishedResponses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		status, raw := ask(t, kind, "/v1/responses", object{"model": model, "input": "Say hello to all of us who are here.", "max_output_tokens": 16, "tools": tools()})
		check.Equal(t, "status", status, http.StatusOK)
		doc, err := wire.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range faults(doc) {
			t.Errorf("%s: %s", f, wire.Clip(raw))
		}
		if wire.Text(doc, "status") != "completed" {
			check.Equal(t, "reason", wire.Text(doc, "incomplete_details.reason"), "max_output_tokens")
			finished, answered := wire.Lookup(doc, "completed_at")
			check.Truef(t, answered && finished == nil, "completed_at is %v of a response that is not complete", finished)
		}
	})
}
