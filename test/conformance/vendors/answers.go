package vendors

import (
	"fmt"
	"strconv"
	"strings"
)

// fill puts an answer's figures into a text: IN, OUT and THOUGHT tokens, their SUM, and
// what generateContent and messages count apart.
func fill(text string, n int) string {
	input, output := Tokens(n)
	thought := output / 3
	number := func(v int64) string { return strconv.FormatInt(v, 10) }
	return strings.NewReplacer(
		"IN", number(input), "SUM", number(input+output), "UNTHOUGHT", number(output-thought), "THOUGHT", number(thought),
		"OUT", number(output), "UNCACHED", number(input-3), "WORDS", fmt.Sprintf("Answer number %d.", n),
	).Replace(text)
}

// The usage of each protocol, in its own convention.
const (
	chatUsage      = `{"prompt_tokens":IN,"completion_tokens":OUT,"completion_tokens_details":{"reasoning_tokens":THOUGHT},"total_tokens":SUM}`
	responsesUsage = `{"input_tokens":IN,"input_tokens_details":{"cached_tokens":3},"output_tokens":OUT,"output_tokens_details":{"reasoning_tokens":THOUGHT},"total_tokens":SUM}`
	messagesUsage  = `{"input_tokens":UNCACHED,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"output_tokens":OUT}`
	geminiUsage    = `{"promptTokenCount":IN,"candidatesTokenCount":UNTHOUGHT,"thoughtsTokenCount":THOUGHT,"totalTokenCount":SUM}`
)

// response is responses' object: its status, output and usage.
func response(status, output, usage string) string {
	return `{"id":"resp_1","object":"response","created_at":7,"status":"` + status + `","error":null,"incomplete_details":null,"instructions":null,"metadata":{},"model":"m","output":` +
		output + `,"parallel_tool_calls":true,"temperature":1,"tool_choice":"auto","tools":[],"top_p":1` + usage + `}`
}

const responsesItem = `{"id":"msg_0","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"WORDS","annotations":[],"logprobs":[]}]}`

// unary is an answer in one body, in two pieces.
func unary(protocol string, n int) []string {
	text := map[string]string{
		"chat":            `{"id":"chatcmpl-1","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"WORDS","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":` + chatUsage + `}`,
		"responses":       response("completed", "["+responsesItem+"]", `,"usage":`+responsesUsage),
		"messages":        `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"WORDS"}],"stop_reason":"end_turn","stop_sequence":null,"usage":` + messagesUsage + `}`,
		"generatecontent": `{"candidates":[{"content":{"role":"model","parts":[{"text":"WORDS"}]},"index":0,"finishReason":"STOP"}],"usageMetadata":` + geminiUsage + `,"modelVersion":"m","responseId":"r1"}`,
	}[protocol]
	text = fill(text, n)
	return []string{text[:len(text)/2], text[len(text)/2:]}
}

// stream is an answer as the frames of a stream.
func stream(protocol string, n int) []string {
	var frames []string
	for _, event := range events[protocol] {
		kind := ""
		if _, rest, typed := strings.Cut(event, `{"type":"`); typed && protocol != "chat" && protocol != "generatecontent" {
			kind, _, _ = strings.Cut(rest, `"`)
			kind = "event: " + kind + "\n"
		}
		frames = append(frames, kind+"data: "+fill(event, n)+"\n\n")
	}
	return frames
}

func chunk(delta, finish string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + `}]}`
}

func part(text, end string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[{"text":"` + text + `"}]},"index":0` + end + `,"modelVersion":"m","responseId":"r1"}`
}

var events = map[string][]string{
	"chat": {
		chunk(`{"role":"assistant","content":""}`, "null"), chunk(`{"content":"WORDS"}`, "null"), chunk(`{"content":" More."}`, "null"), chunk(`{}`, `"stop"`),
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[],"usage":` + chatUsage + `}`, "[DONE]",
	},
	"responses": {
		`{"type":"response.created","sequence_number":0,"response":` + response("in_progress", "[]", "") + `}`,
		`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_0","type":"message","status":"in_progress","role":"assistant","content":[]}}`,
		`{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_0","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}`,
		`{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_0","output_index":0,"content_index":0,"delta":"WORDS","logprobs":[]}`,
		`{"type":"response.output_text.done","sequence_number":4,"item_id":"msg_0","output_index":0,"content_index":0,"text":"WORDS","logprobs":[]}`,
		`{"type":"response.content_part.done","sequence_number":5,"item_id":"msg_0","output_index":0,"content_index":0,"part":{"type":"output_text","text":"WORDS","annotations":[],"logprobs":[]}}`,
		`{"type":"response.output_item.done","sequence_number":6,"output_index":0,"item":` + responsesItem + `}`,
		`{"type":"response.completed","sequence_number":7,"response":` + response("completed", "["+responsesItem+"]", `,"usage":`+responsesUsage) + `}`,
	},
	"messages": {
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":UNCACHED,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"WORDS"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" More."}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":OUT}}`, `{"type":"message_stop"}`,
	},
	"generatecontent": {
		part("WORDS", "}]"), part(" And", "}]"), part(" more.", "}]"),
		part("", `,"finishReason":"STOP"}],"usageMetadata":`+geminiUsage),
	},
}
