package codec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/interactions"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
)

// unended are answers, unary and streamed, that have an end or have none. The frames of a stream are
// lines: the event's data.
var unended = map[string]struct {
	codec        codec.Codec
	body, stream string
	whole        bool
}{
	"chat, a null choice":   {chat.Codec{}, `{"choices":[null]}`, `{"id":"a","choices":[null]}` + "\n[DONE]", false},
	"chat, an empty choice": {chat.Codec{}, `{"choices":[{}]}`, `{"id":"a","choices":[{}]}` + "\n[DONE]", false},
	"chat, a choice of nulls": {
		chat.Codec{}, `{"choices":[{"index":0,"message":null,"finish_reason":null}]}`,
		`{"id":"a","choices":[{"index":0,"delta":null,"finish_reason":null}]}` + "\n[DONE]", false,
	},
	"chat, no message and an empty reason": {
		chat.Codec{}, `{"choices":[{"index":0,"finish_reason":""}]}`,
		`{"id":"a","choices":[{"index":0,"finish_reason":""}]}` + "\n[DONE]", false,
	},
	"chat, one null choice of two": {
		chat.Codec{}, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"},null]}`,
		`{"id":"a","choices":[{"delta":{"content":"x"},"finish_reason":"stop"},null]}` + "\n[DONE]", false,
	},
	// Snowflake's answers have an empty finish_reason, OpenAI's have had null (openai/openai-openapi#20).
	"chat, a message without a reason": {
		chat.Codec{}, `{"choices":[{"message":{"content":"x"},"finish_reason":null}]}`,
		`{"id":"a","choices":[{"delta":{"content":"x"}}]}` + "\n[DONE]", true,
	},
	"chat, a message and an empty reason": {
		chat.Codec{}, `{"choices":[{"message":{"content":""},"finish_reason":""}]}`,
		`{"id":"a","choices":[{"delta":{"content":""},"finish_reason":""}]}` + "\n[DONE]", true,
	},
	"chat, a reason alone": {
		chat.Codec{}, `{"choices":[{"finish_reason":"content_filter"}]}`,
		`{"id":"a","choices":[{"finish_reason":"content_filter"}]}` + "\n[DONE]", true,
	},
	"messages, no reason": {
		messages.Codec{}, `{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":null}`,
		`{"type":"message_start","message":{"type":"message","content":[],"stop_reason":null}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}
{"type":"content_block_stop","index":0}
{"type":"message_delta","delta":{"stop_reason":null}}
{"type":"message_stop"}`, false,
	},
	"messages, an absent reason": {
		messages.Codec{}, `{"type":"message","content":[]}`,
		`{"type":"message_start","message":{"type":"message","content":[]}}
{"type":"message_stop"}`, false,
	},
	"messages, an empty reason": {
		messages.Codec{}, `{"type":"message","content":[],"stop_reason":""}`,
		`{"type":"message_start","message":{"type":"message","content":[]}}
{"type":"message_delta","delta":{"stop_reason":""}}
{"type":"message_stop"}`, false,
	},
	"messages, a reason": {
		messages.Codec{}, `{"type":"message","content":[],"stop_reason":"new_word"}`,
		`{"type":"message_start","message":{"type":"message","content":[]}}
{"type":"message_delta","delta":{"stop_reason":"new_word"}}
{"type":"message_stop"}`, true,
	},
	"messages, a reason ahead of none": {
		messages.Codec{}, `{"type":"message","content":[],"stop_reason":"end_turn"}`,
		`{"type":"message_start","message":{"type":"message","content":[],"stop_reason":"end_turn"}}
{"type":"message_delta","delta":{"stop_reason":null}}
{"type":"message_stop"}`, true,
	},
	"generateContent, no reason": {
		generatecontent.Codec{}, `{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`, false,
	},
	"generateContent, a null candidate": {
		generatecontent.Codec{}, `{"candidates":[null]}`, `{"candidates":[null]}`, false,
	},
	"generateContent, one of two without a reason": {
		generatecontent.Codec{}, `{"candidates":[{"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"x"}]}}]}`,
		`{"candidates":[{"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"x"}]}}]}`, false,
	},
	"generateContent, a blocked prompt": {
		generatecontent.Codec{}, `{"candidates":[{}],"promptFeedback":{"blockReason":"SAFETY"}}`,
		`{"candidates":[{}],"promptFeedback":{"blockReason":"SAFETY"}}`, true,
	},
	"interactions, in progress": {
		interactions.Codec{}, `{"id":"i","status":"in_progress","steps":[]}`,
		`{"event_type":"interaction.created","interaction":{"id":"i","status":"in_progress"}}
{"event_type":"interaction.completed","interaction":{"id":"i","status":"in_progress"}}`, false,
	},
	"interactions, no status": {
		interactions.Codec{}, `{"id":"i","steps":[]}`,
		`{"event_type":"interaction.created","interaction":{"id":"i"}}
{"event_type":"interaction.completed","interaction":{"id":"i"}}`, false,
	},
	"interactions, a status": {
		interactions.Codec{}, `{"id":"i","status":"new_word","steps":[]}`,
		`{"event_type":"interaction.created","interaction":{"id":"i"}}
{"event_type":"interaction.completed","interaction":{"id":"i","status":"new_word"}}`, true,
	},
	"responses, in progress": {
		responses.Codec{}, `{"object":"response","status":"in_progress","output":[]}`,
		`{"type":"response.created","response":{"object":"response","status":"in_progress","output":[]}}`, false,
	},
}

// TestAnswersWithoutAnEnd demands a failure of the upstream for an answer that has no end, whether it
// streams or not, and none for what servers send of a whole answer.
func TestAnswersWithoutAnEnd(t *testing.T) {
	check := func(t *testing.T, how string, err error, whole bool) {
		t.Helper()
		var f *fault.Error
		if whole != (err == nil) || err != nil && (!errors.As(err, &f) || f.Kind != fault.BadUpstream || f.Reason != fault.ReasonMalformedAnswer && f.Reason != fault.ReasonStreamCut) {
			t.Errorf("%s: %v", how, err)
		}
	}
	for name, c := range unended {
		t.Run(name, func(t *testing.T) {
			_, err := c.codec.DecodeResponse([]byte(c.body))
			check(t, "unary", err, c.whole)
			var frames []codec.Frame
			for line := range strings.SplitSeq(c.stream, "\n") {
				frames = append(frames, codec.Frame{Data: []byte(line)})
			}
			_, err = codectest.DecodeStream(c.codec, frames)
			check(t, "streamed", err, c.whole)
		})
	}
}
