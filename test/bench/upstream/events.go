package upstream

import (
	"fmt"
	"strconv"
	"strings"
)

// The streams of the four protocols: what each vendor sends around n pieces of text,
// an element a write.

// piece is the text of the n-th piece.
func piece(n int) string { return " token" + strconv.Itoa(n) }

// pieces is the text of all.
func pieces(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(piece(i))
	}
	return text.String()
}

func chatEvents(n int) []string {
	chunk := func(choices, usage string) string {
		return `data: {"id":"chatcmpl-BwQ2x1y3z5","object":"chat.completion.chunk","created":1763683200,"model":"bench-model","service_tier":"default","system_fingerprint":"fp_0123456789","choices":[` + choices + `],"usage":` + usage + "}\n\n"
	}
	choice := func(delta, finish string) string {
		return `{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + `}`
	}
	events := []string{chunk(choice(`{"role":"assistant","content":"","refusal":null}`, "null"), "null")}
	for i := range n {
		events = append(events, chunk(choice(`{"content":"`+piece(i)+`"}`, "null"), "null"))
	}
	return append(events,
		chunk(choice(`{}`, `"stop"`), "null"),
		chunk("", fmt.Sprintf(`{"prompt_tokens":19,"completion_tokens":%d,"total_tokens":%d}`, n, n+19)),
		"data: [DONE]\n\n")
}

func messagesEvents(n int) []string {
	event := func(name, rest string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + rest + "}\n\n"
	}
	events := []string{
		event("message_start", `,"message":{"id":"msg_01","type":"message","role":"assistant","model":"bench-model","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":19,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}`),
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
	}
	for i := range n {
		events = append(events, event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"`+piece(i)+`"}`))
	}
	return append(events,
		event("content_block_stop", `,"index":0`),
		event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":%d}`, n)),
		event("message_stop", ""))
}

func responsesEvents(n int) []string {
	number := 0
	event := func(name, rest string) string {
		event := "event: " + name + "\ndata: {\"type\":\"" + name + "\",\"sequence_number\":" + strconv.Itoa(number) + rest + "}\n\n"
		number++
		return event
	}
	const head = `"id":"resp_68","object":"response","created_at":1763683200,"model":"bench-model","parallel_tool_calls":true,"tool_choice":"auto","tools":[]`
	const place = `,"item_id":"msg_68","output_index":0,"content_index":0`
	part := func(text string) string { return `{"type":"output_text","text":"` + text + `","annotations":[]}` }
	item := func(status, content string) string {
		return `{"id":"msg_68","type":"message","status":"` + status + `","role":"assistant","content":[` + content + `]}`
	}
	events := []string{
		event("response.created", `,"response":{`+head+`,"status":"in_progress","output":[]}`),
		event("response.output_item.added", `,"output_index":0,"item":`+item("in_progress", "")),
		event("response.content_part.added", place+`,"part":`+part("")),
	}
	for i := range n {
		events = append(events, event("response.output_text.delta", place+`,"delta":"`+piece(i)+`","logprobs":[]`))
	}
	text := pieces(n)
	return append(events,
		event("response.output_text.done", place+`,"text":"`+text+`","logprobs":[]`),
		event("response.content_part.done", place+`,"part":`+part(text)),
		event("response.output_item.done", `,"output_index":0,"item":`+item("completed", part(text))),
		event("response.completed", `,"response":{`+head+`,"status":"completed","output":[`+item("completed", part(text))+
			fmt.Sprintf(`],"usage":{"input_tokens":19,"input_tokens_details":{"cached_tokens":0},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}}`, n, n+19)))
}

func generateContentEvents(n int) []string {
	event := func(text, finish string) string {
		return fmt.Sprintf(`data: {"candidates":[{"content":{"parts":[{"text":"%s"}],"role":"model"}%s,"index":0}],"usageMetadata":{"promptTokenCount":19,"candidatesTokenCount":%d,"totalTokenCount":%d},"modelVersion":"bench-model","responseId":"abc"}`+"\r\n\r\n", text, finish, n, n+19)
	}
	events := make([]string, 0, n+1)
	for i := range n {
		events = append(events, event(piece(i), ""))
	}
	return append(events, event("", `,"finishReason":"STOP"`))
}
