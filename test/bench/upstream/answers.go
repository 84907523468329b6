package upstream

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// program is settings with all answers made from them.
type program struct {
	settings Settings
	slots    chan struct{} // nil for no bound
	waiting  atomic.Int64
	whole    [protocols][]byte
	events   [protocols][][]byte
}

// protocol is what is answered in.
type protocol int

const (
	chat protocol = iota
	responses
	messages
	generateContent
	images
	models
	protocols // how many there are
)

func newProgram(s Settings) *program {
	p := &program{settings: s}
	if s.Slots > 0 {
		p.slots = make(chan struct{}, s.Slots)
	}
	text := prose(s.Text)
	p.whole[chat] = answer(`{"id":"chatcmpl-BwQ2x1y3z5","object":"chat.completion","created":1763683200,"model":"bench-model","choices":[{"index":0,"message":{"role":"assistant","content":"` + text + `","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":210,"total_tokens":229,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"service_tier":"default","system_fingerprint":"fp_0123456789"}`)
	p.whole[responses] = answer(`{"id":"resp_68","object":"response","created_at":1763683200,"status":"completed","error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"model":"bench-model","output":[{"type":"message","id":"msg_68","status":"completed","role":"assistant","content":[{"type":"output_text","text":"` + text + `","annotations":[]}]}],"parallel_tool_calls":true,"previous_response_id":null,"store":true,"temperature":1.0,"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":{"input_tokens":19,"input_tokens_details":{"cached_tokens":0},"output_tokens":210,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":229},"user":null,"metadata":{},"service_tier":"default"}`)
	p.whole[messages] = answer(`{"id":"msg_01","type":"message","role":"assistant","model":"bench-model","content":[{"type":"text","text":"` + text + `"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":19,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":210,"service_tier":"standard"}}`)
	p.whole[generateContent] = answer(`{"candidates":[{"content":{"parts":[{"text":"` + text + `"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":19,"candidatesTokenCount":210,"totalTokenCount":229},"modelVersion":"bench-model","responseId":"abc"}`)
	p.whole[images] = answer(`{"created":1763683200,"background":"opaque","data":[{"b64_json":"` + picture(s.Image) + `"}],"output_format":"png","quality":"low","size":"1024x1024","usage":{"input_tokens":12,"input_tokens_details":{"image_tokens":0,"text_tokens":12},"output_tokens":272,"output_tokens_details":{"image_tokens":272,"text_tokens":0},"total_tokens":284}}`)
	p.whole[models] = answer(`{"object":"list","data":[{"id":"bench-model","object":"model","created":1763683200,"owned_by":"bench"}]}`)
	for stream, events := range map[protocol][]string{
		chat:            chatEvents(s.Pieces),
		responses:       responsesEvents(s.Pieces),
		messages:        messagesEvents(s.Pieces),
		generateContent: generateContentEvents(s.Pieces),
	} {
		for _, event := range events {
			p.events[stream] = append(p.events[stream], fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event))
		}
	}
	return p
}

// words are English with what JSON escapes, as answers have.
const words = `The quick brown fox jumps over the lazy dog while 12 \"quoted\" engineers measure the gateway's latency;\nthey note p50 and p99. `

// prose returns at least n bytes of text, escaped for JSON.
func prose(n int) string {
	return strings.Repeat(words, (n+len(words)-1)/len(words))
}

// picture returns n characters of base64, less what makes n no multiple of four.
func picture(n int) string {
	const piece = "iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAYAAAB/HSuDAAAA"
	return strings.Repeat(piece, n/len(piece)+1)[:n&^3]
}

// answer is a whole answer with its head, ready to be written.
func answer(body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-request-id: req_0123456789abcdef\r\nopenai-processing-ms: 12\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// refusal is an answer that is none.
func refusal(status, why string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", status, len(why), why)
}

// The head and the end of a stream.
var (
	streamHead = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nx-request-id: req_0123456789abcdef\r\nTransfer-Encoding: chunked\r\n\r\n")
	streamEnd  = []byte("0\r\n\r\n")
)
