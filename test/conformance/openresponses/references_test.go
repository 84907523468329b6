package openresponses

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/wire"
)

// referring is what the AI SDK sends back of an answer (@ai-sdk/openai 3.0.141): references
// to reasoning and to messages, calls in full but without their identifiers.
func referring(t *testing.T, answer any) []any {
	t.Helper()
	output, _ := wire.Lookup(answer, "output")
	var items []any
	for _, item := range output.([]any) {
		if wire.Text(item, "type") == "function_call" {
			items = append(items, object{
				"type": "function_call", "call_id": wire.Text(item, "call_id"), "name": wire.Text(item, "name"), "arguments": wire.Text(item, "arguments"),
			}, object{"type": "function_call_output", "call_id": wire.Text(item, "call_id"), "output": "The sun shines."})
			continue
		}
		items = append(items, object{"type": "item_reference", "id": wire.Text(item, "id")})
	}
	return items
}

// steps asks with reasoning, tools and the previous turns.
func steps(input ...any) object {
	return object{"model": model, "tools": tools(), "reasoning": object{"effort": "high", "summary": "auto"}, "input": input}
}

// last is the response object of an answer, streamed or not.
func last(t *testing.T, kind string, streamed bool, body object) any {
	t.Helper()
	if !streamed {
		return whole(t, kind, body)
	}
	list := events(t, kind, body)
	response, _ := wire.Lookup(list[len(list)-1].Data, "response")
	check.Equal(t, "status", wire.Text(response, "status"), "completed")
	return response
}

// TestReferencesResolve: a tool loop and a further turn in which earlier answers are sent as
// references. The sandbox repeats the conversation that it sees.
func TestReferencesResolve(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		for name, streamed := range map[string]bool{"unary": false, "streamed": true} {
			t.Run(name, func(t *testing.T) {
				conversation := []any{message("user", `Call the tool weather with {"city":"Paris"}.`)}
				first := last(t, kind, streamed, steps(conversation...))
				check.Equal(t, "name of the call", wire.Text(call(t, first, "output"), "name"), "weather")
				conversation = append(conversation, referring(t, first)...)
				second := last(t, kind, streamed, steps(conversation...))
				text := textOf(second)
				check.Contains(t, text, "The sun shines.")
				if kind != "responses" { // which resolves them at the upstream, or refuses
					check.Contains(t, text, "assistant: thinking")
				}
				conversation = append(append(conversation, referring(t, second)...), message("user", "Good bye."))
				check.Contains(t, textOf(last(t, kind, streamed, steps(conversation...))), `assistant: `, "The sun shines.", "Good bye.")
			})
		}
	})
}

// saidIn is the text of an answer.
func textOf(answer any) string {
	output, _ := wire.Lookup(answer, "output")
	var text strings.Builder
	for _, item := range output.([]any) {
		text.WriteString(wire.Text(item, "content[0].text"))
	}
	return text.String()
}

// TestUnknownReferences: unknown references are left out and named; a request
// of nothing else is refused.
func TestUnknownReferences(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		unknown := []any{
			object{"type": "item_reference", "id": "rs_gw0123456789abcdef"}, object{"type": "item_reference", "id": "rs_68af"}, object{"id": "msg_68af"},
		}
		status, raw := ask(t, kind, "/v1/responses", steps(unknown...))
		check.Equal(t, "status of a request with nothing but references", status, http.StatusBadRequest)
		check.Contains(t, raw, "item", `"param":"input`)
		whole(t, kind, steps(append(unknown, message("user", "Say hello."))...))
	})
}

// TestReferencesAtAnotherCore: what one core gave its caller another one knows that shares
// the database, and a key of someone else does not.
func TestReferencesAtAnotherCore(t *testing.T) {
	t.Parallel()
	sandbox := ways.ByKind["sandbox"]
	other := server.Start(t, server.Options{Data: sandbox.Data, Keys: sandbox.Keys})
	answer := whole(t, "sandbox", object{"model": model, "input": "Say a word."})
	input := append(referring(t, answer), message("user", "Again."))
	// A core writes its items beside the answer, so another one knows them a moment later.
	for deadline := time.Now().Add(time.Minute); ; {
		_, raw := post(t, other.URL(), sandbox.Keys["chat"], "/v1/responses", object{"model": model, "input": input})
		if strings.Contains(raw, "Say a word.") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("another core does not know the items: %s", wire.Clip(raw))
		}
	}
	stranger, err := server.CreateKey(sandbox.Data, "chat", "stranger")
	if err != nil {
		t.Fatal(err)
	}
	_, raw := post(t, other.URL(), stranger, "/v1/responses", object{"model": model, "input": input})
	check.Truef(t, !strings.Contains(raw, "Say a word."), "another key sees %s", wire.Clip(raw))
}
