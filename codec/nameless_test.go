package codec_test

import (
	"errors"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/interactions"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
)

// A call without the name of a tool is none that a caller could run: an answer that is translated
// is malformed, whatever the upstream speaks.
func TestCallWithoutNameIsNoAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		codec  codec.Codec
		whole  string
		frames []string
	}{
		"chat": {
			chat.Codec{},
			`{"id":"c","choices":[{"message":{"content":null,"tool_calls":[{"id":"t","type":"function","function":{"name":"","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			[]string{`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"arguments":"{}"}}]}}]}`, `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`},
		},
		"chat, custom": {
			chat.Codec{},
			`{"id":"c","choices":[{"message":{"content":null,"tool_calls":[{"id":"t","type":"custom","custom":{"input":"x"}}]},"finish_reason":"tool_calls"}]}`,
			[]string{`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","type":"custom","custom":{"input":"x"}}]}}]}`, `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`},
		},
		"messages": {
			messages.Codec{},
			`{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"","input":{}}],"stop_reason":"tool_use"}`,
			[]string{
				`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","input":{}}}`,
			},
		},
		"responses": {
			responses.Codec{},
			`{"id":"r","status":"completed","output":[{"type":"function_call","call_id":"t","name":"","arguments":"{}"}]}`,
			[]string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"t1","arguments":""}}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"t1","arguments":"{}"}}`,
			},
		},
		"generateContent": {
			generatecontent.Codec{},
			`{"candidates":[{"content":{"parts":[{"functionCall":{"args":{}}}]},"finishReason":"STOP"}]}`,
			[]string{`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"","args":{}}}]},"finishReason":"STOP"}]}`},
		},
		"interactions": {
			interactions.Codec{},
			`{"id":"i","status":"requires_action","steps":[{"type":"function_call","id":"c","name":"","arguments":{}}]}`,
			[]string{
				`{"event_type":"interaction.created","interaction":{"id":"i","status":"in_progress"}}`,
				`{"event_type":"step.start","index":0,"step":{"type":"function_call","id":"c","arguments":{}}}`,
			},
		},
	} {
		_, err := test.codec.DecodeResponse([]byte(test.whole))
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.BadUpstream {
			t.Errorf("%s: %v", name, err)
		}
		d := test.codec.NewStreamDecoder()
		err = nil
		for _, data := range test.frames {
			if _, err = d.Decode(codec.Frame{Data: []byte(data)}); err != nil {
				break
			}
		}
		if err == nil {
			_, err = d.Close()
		}
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.BadUpstream {
			t.Errorf("%s, streamed: %v", name, err)
		}
	}
}
