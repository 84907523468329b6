//go:build captures

package captures

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/wire"
)

// streamed demands a stream of the protocol that ends as a success does.
func streamed(t *testing.T, c capture, a answer) {
	t.Helper()
	if c.protocol() == "generatecontent" && !strings.Contains(c.Query, "alt=sse") {
		list, ok := document(t, a).([]any)
		if !ok || len(list) == 0 {
			t.Fatalf("no array: %s", wire.Clip(a.raw))
		}
		satisfies(t, list[len(list)-1], a.raw, "candidates[0].finishReason string\n usageMetadata.totalTokenCount integer")
		return
	}
	check.Equal(t, "content type", a.kind, "text/event-stream")
	frames, comments, err := wire.Frames(a.raw)
	if err != nil || len(frames) == 0 {
		t.Fatalf("no stream (%v): %s", err, wire.Clip(a.raw))
	}
	switch c.protocol() {
	case "chat":
		chatStream(t, frames)
	case "responses":
		responsesStream(t, frames)
	case "messages":
		messagesStream(t, frames)
	case "images":
		satisfies(t, frames[len(frames)-1].Data, a.raw, "type string image_generation.completed\n b64_json string")
	case "generatecontent":
		check.Equal(t, "comments", comments, 0)
		for _, f := range frames {
			check.Equal(t, "event name", f.Event, "")
		}
		satisfies(t, frames[len(frames)-1].Data, a.raw, "candidates[0].finishReason string\n usageMetadata.totalTokenCount integer")
	}
}

func chatStream(t *testing.T, frames []wire.Frame) {
	t.Helper()
	check.Equal(t, "last data", frames[len(frames)-1].Raw, wire.Done)
	id, finished, calls := wire.Text(frames[0].Data, "id"), 0, 0
	check.Equal(t, "role of the first chunk", wire.Text(frames[0].Data, "choices[0].delta.role"), "assistant")
	for _, f := range frames[:len(frames)-1] {
		satisfies(t, f.Data, f.Raw, "object string chat.completion.chunk\n choices array\n created integer\n id string "+id)
		if wire.Text(f.Data, "choices[0].finish_reason") != "" {
			finished++
		}
		// Each call begins with its id and name, and calls are counted from 0.
		if wire.Text(f.Data, "choices[0].delta.tool_calls[0].id") != "" {
			index, _ := wire.Lookup(f.Data, "choices[0].delta.tool_calls[0].index")
			check.Equal(t, "index of the call", fmt.Sprint(index), strconv.Itoa(calls))
			check.Truef(t, wire.Text(f.Data, "choices[0].delta.tool_calls[0].function.name") != "", "a call without name: %s", f.Raw)
			calls++
		}
	}
	check.Equal(t, "number of finish reasons", finished, 1)
}

func responsesStream(t *testing.T, frames []wire.Frame) {
	t.Helper()
	check.Equal(t, "first event", frames[0].Event, "response.created")
	last := frames[len(frames)-1]
	check.Truef(t, last.Event == "response.completed" || last.Event == "response.incomplete", "last event is %s", last.Event)
	satisfies(t, last.Data, last.Raw, "response.id string\n response.output array\n response.usage.total_tokens integer")
	open := 0
	for i, f := range frames {
		check.Equal(t, "type of the data", wire.Text(f.Data, "type"), f.Event)
		number, _ := wire.Lookup(f.Data, "sequence_number")
		check.Equal(t, "sequence_number", fmt.Sprint(number), strconv.Itoa(i))
		switch f.Event {
		case "response.output_item.added":
			open++
		case "response.output_item.done":
			open--
		}
	}
	check.Equal(t, "items that never end", open, 0)
}

func messagesStream(t *testing.T, frames []wire.Frame) {
	t.Helper()
	check.Equal(t, "first event", frames[0].Event, "message_start")
	check.Equal(t, "last event", frames[len(frames)-1].Event, "message_stop")
	satisfies(t, frames[0].Data, frames[0].Raw, "message.id string\n message.content array\n message.usage.input_tokens integer\n message.usage.output_tokens integer")
	delta := frames[len(frames)-2]
	satisfies(t, delta.Data, delta.Raw, "type string message_delta\n delta.stop_reason string\n usage.output_tokens integer")
	begun, open := 0, false
	for _, f := range frames {
		check.Equal(t, "type of the data", wire.Text(f.Data, "type"), f.Event)
		index, _ := wire.Lookup(f.Data, "index")
		switch f.Event {
		case "content_block_start":
			check.Truef(t, !open, "a block begins within a block")
			check.Equal(t, "index", index, any(json.Number(strconv.Itoa(begun))))
			begun, open = begun+1, true
		case "content_block_delta", "content_block_stop":
			check.Truef(t, open, "%s outside a block", f.Event)
			check.Equal(t, "index", index, any(json.Number(strconv.Itoa(begun-1))))
			open = f.Event == "content_block_delta"
		}
	}
	check.Truef(t, !open, "a block never ends")
}
