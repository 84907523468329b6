package spec_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/wire"
)

// frames splits a stream that succeeded.
func frames(t *testing.T, a answer) (list []wire.Frame, comments int) {
	t.Helper()
	check.Equal(t, "status", a.status, 200)
	check.Equal(t, "content type", mediaType(a), "text/event-stream")
	list, comments, err := wire.Frames(a.raw)
	if err != nil || len(list) < 2 {
		t.Fatalf("not a stream (%v): %q", err, wire.Clip(a.raw))
	}
	return list, comments
}

func TestChatStream(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, all []operation) {
		op := all[0]
		body := op.body()
		body["stream"], body["stream_options"] = true, object{"include_usage": true}
		// SDKs ask for streams with Accept: application/json.
		list, _ := frames(t, send(t, "POST", op.path, op.headers().with("Accept", "application/json"), body))
		check.Equal(t, "last data", list[len(list)-1].Raw, wire.Done)
		role, _ := wire.Lookup(list[0].Data, "choices[0].delta.role")
		check.Equal(t, "role of the first chunk", role, any("assistant"))
		usage, _ := wire.Lookup(list[len(list)-2].Data, "usage.total_tokens")
		check.Truef(t, usage != nil, "no usage before the end: %s", list[len(list)-2].Raw)
		choices, _ := wire.Lookup(list[len(list)-2].Data, "choices")
		check.Truef(t, choices != nil && len(choices.([]any)) == 0, "choices beside the usage: %v", choices)
		finish, _ := wire.Lookup(list[len(list)-3].Data, "choices[0].finish_reason")
		check.Equal(t, "last finish_reason", finish, any("stop"))
		for _, f := range list {
			check.Equal(t, "event name", f.Event, "")
		}
	})
}

func TestMessagesStream(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, all []operation) {
		op := all[3]
		body := op.body()
		body["stream"] = true
		list, _ := frames(t, send(t, "POST", op.path, op.headers(), body))
		var order []string
		for _, f := range list {
			kind, _ := wire.Lookup(f.Data, "type")
			check.Equal(t, "type of the data", kind, any(f.Event))
			if f.Event != "ping" && (len(order) == 0 || order[len(order)-1] != f.Event) {
				order = append(order, f.Event)
			}
		}
		check.Truef(t, slices.Equal(order, []string{
			"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
		}), "events are %v", order)
		input, _ := wire.Lookup(list[0].Data, "message.usage.input_tokens")
		check.Truef(t, input != nil, "no input_tokens at the start: %s", list[0].Raw)
	})
}

func TestResponsesStream(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, all []operation) {
		op := all[1]
		body := op.body()
		body["stream"] = true
		list, _ := frames(t, send(t, "POST", op.path, op.headers().with("Accept", "text/event-stream"), body))
		for _, f := range list {
			kind, _ := wire.Lookup(f.Data, "type")
			check.Equal(t, "type of the data", kind, any(f.Event))
		}
		check.Equal(t, "first event", list[0].Event, "response.created")
		check.Equal(t, "last event", list[len(list)-1].Event, "response.completed")
		status, _ := wire.Lookup(list[len(list)-1].Data, "response.status")
		check.Equal(t, "status", status, any("completed"))
	})
}

// TestGenerateContentStream: frames with nothing but data, without comments, which the
// vendor's SDKs do not take; without alt=sse one JSON array.
func TestGenerateContentStream(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, all []operation) {
		op := all[4]
		for _, prefix := range []string{"/v1beta", "/v1"} {
			path := strings.Replace(op.path, "/v1beta/models/sandbox-text:generateContent", prefix+"/models/sandbox-text:streamGenerateContent", 1)
			list, comments := frames(t, send(t, "POST", path+"?alt=sse", op.headers(), op.body()))
			check.Equal(t, "comments", comments, 0)
			var streamed strings.Builder
			for _, f := range list {
				check.Equal(t, "event name", f.Event, "")
				streamed.WriteString(wire.Text(f.Data, "candidates[0].content.parts[0].text"))
			}
			last := list[len(list)-1]
			finish, _ := wire.Lookup(last.Data, "candidates[0].finishReason")
			check.Equal(t, "finishReason of the last frame", finish, any("STOP"))
			usage, _ := wire.Lookup(last.Data, "usageMetadata.totalTokenCount")
			check.Truef(t, usage != nil, "no usage in the last frame: %s", last.Raw)

			array := send(t, "POST", path, op.headers(), op.body())
			check.Equal(t, "content type", mediaType(array), "application/json")
			whole, ok := array.body.([]any)
			if !ok || len(whole) == 0 {
				t.Fatalf("no array: %s", wire.Clip(array.raw))
			}
			var joined strings.Builder
			for _, element := range whole {
				joined.WriteString(wire.Text(element, "candidates[0].content.parts[0].text"))
			}
			check.Equal(t, "text of the array", joined.String(), streamed.String())
		}
	})
}

// TestStreamFalse is a plain answer.
func TestStreamFalse(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, all []operation) {
		for _, op := range all[:4] {
			body := op.body()
			body["stream"] = false
			a := send(t, "POST", op.path, op.headers(), body)
			check.Equal(t, "status", a.status, 200)
			holds(t, a, op.table())
		}
	})
}

// TestBrokenStreams end in the protocol's error and without its end of success.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	success := map[string]string{
		"chat completion": `"finish_reason":"stop"`, "response creation": "response.completed",
		"message creation": "message_stop", "content generation": `"finishReason"`,
	}
	failure := map[string]string{
		"chat completion": `{"error":`, "response creation": "response.failed", "message creation": "event: error", "content generation": `"error":`,
	}
	eachSandbox(t, func(t *testing.T, op operation) {
		if success[op.name] == "" {
			return
		}
		for _, model := range []string{"sandbox-cut", "sandbox-mid-error"} {
			body, path := op.body(), op.path
			if op.name == "content generation" {
				path = strings.Replace(path, "sandbox-text:generateContent", model+":streamGenerateContent?alt=sse", 1)
			} else {
				body["model"], body["stream"] = model, true
			}
			a := send(t, "POST", path, op.headers(), body)
			frames(t, a)
			check.Contains(t, a.raw, failure[op.name])
			check.Truef(t, !strings.Contains(a.raw, success[op.name]), "%s looks complete:\n%s", model, wire.Clip(a.raw))
		}
	})
}
