package remote_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// answersOf are the same answer of each protocol, in one piece and as events.
var answersOf = map[genwayv1.Protocol][2]string{
	genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: {chatAnswer, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}

data: [DONE]

`},
	genwayv1.Protocol_PROTOCOL_MESSAGES: {
		`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}`,
		`event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}

event: message_stop
data: {"type":"message_stop"}

`},
	genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: {
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1,"totalTokenCount":4}}`,
		`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1,"totalTokenCount":4}}` + "\n\n"},
}

// An upstream that answers a unary call with events, or a streamed one with one object, is
// taken at its word: the caller gets the answer in the form that it asked for, with its
// usage. Half of an answer is none.
func TestAnswersOfTheOtherForm(t *testing.T) {
	for protocol, answer := range answersOf {
		for _, mediaType := range []string{"text/event-stream", "application/json", "text/plain", ""} {
			for _, passThrough := range []bool{false, true} {
				what := fmt.Sprintf("%v, %q, passThrough %v", protocol, mediaType, passThrough)
				u, req := native(t, protocol, mediaType, answer[1])
				if !passThrough {
					req.Wire = nil
				}
				resp, err := u.GenerateText(t.Context(), deferred.New(req))
				if err != nil || resp.GetWire() != nil || resp.GetCandidates()[0].GetParts()[0].GetText().GetText() != "x" || resp.GetUsage().GetInputTokens() != 3 {
					t.Errorf("%s: events for one answer: %v %v", what, resp, err)
				}
				u, req = native(t, protocol, mediaType, answer[1][:len(answer[1])/3])
				if resp, err := u.GenerateText(t.Context(), deferred.New(req)); fault.From(err) == nil || fault.From(err).HTTPStatus() != http.StatusBadGateway {
					t.Errorf("%s: a third of the events: %v %v", what, resp, err)
				}
				u, req = native(t, protocol, mediaType, "\n "+answer[0])
				if !passThrough {
					req.Wire = nil
				}
				text, done, usage := "", false, int64(0)
				err = u.StreamGenerateText(t.Context(), deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
					text += ev.GetPartDelta().GetText() + string(ev.GetWire().GetData())
					done = done || ev.GetCompleted() != nil
					usage += ev.GetCompleted().GetUsage().GetInputTokens()
					return nil
				})
				if err != nil || text != "x" || !done || protocol != genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS && usage != 3 {
					t.Errorf("%s: one answer for events: %q, %v, usage %d, %v", what, text, done, usage, err)
				}
			}
		}
	}
}

// What is no answer is none, whatever its status and its type say, in each form and for
// callers of each protocol.
func TestNoAnswers(t *testing.T) {
	for protocol, answer := range answersOf {
		for _, body := range []string{
			"", " ", "null", "0", `"x"`, "[]", "{}", "<!DOCTYPE html><h1>Sign in</h1>", "OK", "data: {}\n\n", "data: [DONE]\n\n", "data: garbage\n\n", ": comment\n\n",
			answer[0] + " trailing garbage", answer[0] + answer[0], answer[0][:len(answer[0])-1], `{"error":`, "\x00\x01\x02",
		} {
			if body == "{}" && protocol == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT {
				continue // all of its members are optional
			}
			for _, mediaType := range []string{"application/json", "text/event-stream", "text/html", "text/plain", "image/png"} {
				for _, passThrough := range []bool{false, true} {
					for _, streamed := range []bool{false, true} {
						u, req := native(t, protocol, mediaType, body)
						if !passThrough {
							req.Wire = nil
						}
						what, done := fmt.Sprintf("%v, %s %.60q, passThrough %v, streamed %v", protocol, mediaType, body, passThrough, streamed), false
						var err error
						if streamed {
							err = u.StreamGenerateText(t.Context(), deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
								done = done || ev.GetCompleted() != nil
								return nil
							})
						} else {
							var resp *genwayv1.GenerateTextResponse
							resp, err = u.GenerateText(t.Context(), deferred.New(req))
							// Texts that say to be such pass for callers of the protocol.
							if passThrough && body == "OK" && (mediaType == "text/plain" || mediaType == "text/event-stream") {
								if resp.GetWire().GetHeaders()["content-type"] != mediaType || string(resp.GetWire().GetJson()) != body {
									t.Errorf("%s: %v, %v", what, resp, err)
								}
								continue
							}
							// Objects are for callers of the protocol to understand (case X2).
							if err == nil && passThrough && body == "{}" {
								continue
							}
							done = resp != nil
						}
						if f := fault.From(err); err == nil || done || f.HTTPStatus() != http.StatusBadGateway {
							t.Errorf("%s: done %v, %v", what, done, err)
						}
					}
				}
			}
		}
	}
}
