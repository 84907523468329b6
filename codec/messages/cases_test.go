package messages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/messages"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

func compactRequest(t *testing.T, req *codec.Request) string {
	t.Helper()
	body, err := c.EncodeRequest(req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func compactResponse(t *testing.T, resp *genwayv1.GenerateTextResponse) string {
	t.Helper()
	body, err := c.EncodeResponse(resp, codec.Answer{})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func streamed(t *testing.T, resp *genwayv1.GenerateTextResponse) string {
	t.Helper()
	return codectest.Frames(codectest.EncodeStream(t, c, codec.Events(resp, nil), codec.Answer{}))
}

func answer(parts ...*genwayv1.Part) *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{Id: "r", Candidates: []*genwayv1.Candidate{{
		Parts: parts, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}}
}

func toolCall(id, arguments string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: id, Name: "f", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: arguments}}}}
}

func seal(origin genwayv1.Protocol, value string) *genwayv1.Seal {
	return &genwayv1.Seal{Protocol: origin, Value: []byte(value)}
}

func thinking(th *genwayv1.Thinking) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: th}}
}

// turns is a conversation in which the assistant says the parts.
func turns(parts ...*genwayv1.Part) *codec.Request {
	return request(&genwayv1.GenerateTextRequest{MaxOutputTokens: proto.Int64(1), Messages: []*genwayv1.Message{
		{Role: genwayv1.Role_ROLE_ASSISTANT, Parts: parts}}})
}

func TestCases(t *testing.T) {
	const gemini = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	t.Run("T2", func(t *testing.T) {
		resp := answer(text(""), toolCall("c", `{}`))
		if got := streamed(t, resp) + compactResponse(t, resp); strings.Contains(got, `"type":"text"`) {
			t.Errorf("a block for an empty text: %s", got)
		}
	})
	t.Run("T9", func(t *testing.T) {
		got := streamed(t, answer(text("x"), toolCall("a", `{}`), text(""), toolCall("b", `{}`)))
		at := 0
		for i := range 3 {
			for _, event := range []string{"content_block_start", "content_block_delta", "content_block_stop"} {
				next := strings.Index(got[at:], fmt.Sprintf(`"type":%q,"index":%d`, event, i))
				if next < 0 {
					t.Fatalf("no %s of block %d in order in %s", event, i, got)
				}
				at += next
			}
		}
		if strings.Contains(got, `"index":3`) {
			t.Errorf("a fourth block in %s", got)
		}
	})
	t.Run("T10", func(t *testing.T) {
		resp := answer(toolCall("c", ""))
		if got := streamed(t, resp); !strings.Contains(got, `"partial_json":"{}"`) {
			t.Errorf("streamed %s", got)
		}
		if got := compactResponse(t, resp); !strings.Contains(got, `"input":{}`) {
			t.Errorf("unary %s", got)
		}
		if got := compactRequest(t, turns(toolCall("c", ""))); !strings.Contains(got, `"input":{}`) {
			t.Errorf("replayed %s", got)
		}
	})
	t.Run("T12", func(t *testing.T) {
		resp := answer(toolCall("c", `{"q":"un`))
		if body, err := c.EncodeResponse(resp, codec.Answer{}); fault.From(err) == nil || fault.From(err).Kind != fault.BadUpstream {
			t.Errorf("a whole answer gave %s, %v", body, err)
		}
		resp.Candidates[0].StopReason = genwayv1.StopReason_STOP_REASON_MAX_TOKENS
		var losses codec.Losses
		body, err := c.EncodeResponse(resp, codec.Answer{Losses: &losses})
		if err != nil || strings.Contains(string(body), `"type":"tool_use"`) || len(losses.List()) != 1 || losses.List()[0].GetMember() != "candidates[0].parts[0].tool_call" {
			t.Errorf("got %s %v %v", body, losses.List(), err)
		}
		if got := streamed(t, resp); !strings.Contains(got, `"partial_json":"{\"q\":\"un"`) {
			t.Errorf("streamed %s", got)
		}
	})
	t.Run("T16", func(t *testing.T) {
		const schema = `{"type": "object",  "required":["b","a"], "properties":{"b":{"maximum":1.50},"a":{"const":"\u00e9\/"}}}`
		in := `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"z","input_schema":` + schema + `},{"name":"a","input_schema":{}}]}`
		req, err := c.DecodeRequest([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := req.Tools[0].GetFunction().ParametersJson; got != schema {
			t.Errorf("canonical %s", got)
		}
		if got := compactRequest(t, req); got != in {
			t.Errorf("got %s", got)
		}
	})
	t.Run("T17", func(t *testing.T) {
		result := func(id string) *genwayv1.Message {
			return &genwayv1.Message{Role: genwayv1.Role_ROLE_TOOL, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_ToolResult{
				ToolResult: &genwayv1.ToolResult{ToolCallId: id, Parts: []*genwayv1.Part{text("r")}}}}}}
		}
		req := turns(toolCall("a", `{}`), toolCall("b", `{}`))
		req.Messages = append(req.Messages, result("a"),
			&genwayv1.Message{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{text("next")}}, result("b"))
		const want = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"},{"type":"tool_result","tool_use_id":"b","content":"r"},{"type":"text","text":"next"}]}`
		if got := compactRequest(t, req); !strings.Contains(got, want) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("T18", func(t *testing.T) {
		const id = "functions.get weather:0"
		back, err := c.DecodeResponse([]byte(compactResponse(t, answer(toolCall(id, `{}`)))))
		if err != nil || back.Candidates[0].Parts[0].GetToolCall().Id != id {
			t.Errorf("got %v %v", back, err)
		}
	})
	t.Run("R1", func(t *testing.T) {
		call := toolCall("c", `{}`)
		call.ThoughtSignature = seal(gemini, "\x00\xffsig")
		for name, blocks := range map[string]*genwayv1.GenerateTextResponse{"alone": answer(call), "between": answer(text("x"), call, text("y"))} {
			// The caller's next turn repeats the answer as it was encoded.
			for how, answered := range map[string]string{"unary": compactResponse(t, blocks), "streamed": accumulated(t, blocks)} {
				got := replayed(t, answered)
				sealed := 0
				for _, p := range got {
					if p.ThoughtSignature != nil {
						sealed++
						if p.GetToolCall() == nil || !proto.Equal(p.ThoughtSignature, call.ThoughtSignature) {
							t.Errorf("%s %s: the seal is at %v", name, how, p)
						}
					}
				}
				if sealed != 1 || len(got) != len(blocks.Candidates[0].Parts) {
					t.Errorf("%s %s: got %v", name, how, got)
				}
			}
		}
	})
	t.Run("R2 has no place", func(t *testing.T) {
		own := text("")
		own.ThoughtSignature = seal(gemini, "sig")
		resp := answer(text("x"), own)
		for how, answered := range map[string]string{"unary": compactResponse(t, resp), "streamed": accumulated(t, resp)} {
			got := replayed(t, answered)
			// No block stands behind the last text: agents print it as the result.
			if len(got) != 1 || !proto.Equal(got[0], text("x")) {
				t.Errorf("%s: got %v", how, got)
			}
		}
	})
	t.Run("R3", func(t *testing.T) {
		got := streamed(t, answer(thinking(&genwayv1.Thinking{Text: "why", Signature: seal(own, "sig")})))
		text, sig := strings.Index(got, "thinking_delta"), strings.Index(got, `{"type":"signature_delta","signature":"sig"}`)
		if text < 0 || sig < text || strings.Index(got, "content_block_stop") < sig {
			t.Errorf("got %s", got)
		}
	})
	t.Run("R4 R5", func(t *testing.T) {
		resp := answer(thinking(&genwayv1.Thinking{Text: "why"}))
		got := compactResponse(t, resp) + streamed(t, resp)
		if strings.Contains(got, "signature") || !strings.Contains(got, `{"type":"thinking","thinking":"why"}`) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("R6 R8", func(t *testing.T) {
		foreign := seal(genwayv1.Protocol_PROTOCOL_RESPONSES, "enc")
		resp := answer(thinking(&genwayv1.Thinking{EncryptedContent: foreign}), thinking(&genwayv1.Thinking{Summary: []string{"s"}, EncryptedContent: foreign}))
		got := replayed(t, compactResponse(t, resp))
		if len(got) != 2 || !proto.Equal(got[0].GetThinking(), resp.Candidates[0].Parts[0].GetThinking()) || !proto.Equal(got[1].GetThinking(), resp.Candidates[0].Parts[1].GetThinking()) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("R7", func(t *testing.T) {
		req := turns(
			thinking(&genwayv1.Thinking{Text: "mine", Signature: seal(own, "s")}), thinking(&genwayv1.Thinking{Text: "unsigned"}),
			thinking(&genwayv1.Thinking{Text: "foreign", Signature: seal(gemini, "s")}), thinking(&genwayv1.Thinking{}), text("x"))
		var losses codec.Losses
		body, err := c.EncodeRequest(req, &losses)
		const want = `"content":[{"type":"thinking","thinking":"mine","signature":"s"},{"type":"text","text":"x"}]`
		if err != nil || !strings.Contains(string(body), want) || len(losses.List()) != 2 {
			t.Errorf("got %s %v %v", body, losses.List(), err)
		}
	})
	t.Run("U4 U5", func(t *testing.T) {
		encoder := c.NewStreamEncoder(codec.Answer{})
		var out []codec.Frame
		for _, ev := range []*genwayv1.StreamGenerateTextResponse{
			codec.Event(&genwayv1.TextStarted{Id: "r"}),
			codec.Event(&genwayv1.TextCompleted{Usage: &genwayv1.Usage{InputTokens: 7, OutputTokens: 2, TotalTokens: 9, CacheReadInputTokens: proto.Int64(3)}}),
		} {
			fs, err := encoder.Encode(ev)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range fs {
				out = append(out, codec.Frame{Event: f.Event, Data: []byte(string(f.Data))})
			}
		}
		if last := string(out[1].Data); !strings.Contains(last, `"input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":3`) {
			t.Errorf("got %s", last)
		}
		resp, err := codectest.DecodeStream(c, out)
		if err != nil || resp.Usage.InputTokens != 7 || resp.Usage.OutputTokens != 2 {
			t.Errorf("got %v %v", resp.GetUsage(), err)
		}
	})
	t.Run("F12", func(t *testing.T) {
		req := turns(text(""))
		req.Messages = append(req.Messages, &genwayv1.Message{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{text(""), text("x")}})
		if got := compactRequest(t, req); !strings.Contains(got, `"messages":[{"role":"user","content":"x"}]`) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("F17", func(t *testing.T) {
		var losses codec.Losses
		body, err := c.EncodeRequest(request(&genwayv1.GenerateTextRequest{}), &losses)
		if err != nil || !strings.Contains(string(body), fmt.Sprintf(`"max_tokens":%d`, messages.DefaultMaxTokens)) || len(losses.List()) != 0 {
			t.Errorf("got %s %v %v", body, losses.List(), err)
		}
	})
}

// replayed returns the parts of an answer that a caller sends back as its history.
func replayed(t *testing.T, answer string) []*genwayv1.Part {
	t.Helper()
	from, to := strings.Index(answer, `"content":[`), strings.Index(answer, `,"stop_reason":"`)
	req, err := c.DecodeRequest([]byte(`{"model":"m","max_tokens":1,"messages":[{"role":"assistant",` + answer[from:to] + `}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return req.Messages[0].Parts
}

// accumulated is the answer as the vendor's SDK puts it together from the events:
// each block as it opened, with its deltas.
func accumulated(t *testing.T, resp *genwayv1.GenerateTextResponse) string {
	t.Helper()
	var blocks []string
	for _, f := range codectest.EncodeStream(t, c, codec.Events(resp, nil), codec.Answer{}) {
		data := string(f.Data)
		switch f.Event {
		case "content_block_start":
			_, block, _ := strings.Cut(data, `"content_block":`)
			blocks = append(blocks, strings.TrimSuffix(block, "}"))
		case "content_block_delta":
			if _, text, ok := strings.Cut(data, `"type":"text_delta","text":"`); ok {
				last := &blocks[len(blocks)-1]
				*last = strings.Replace(*last, `"text":""`, `"text":"`+strings.TrimSuffix(text, `"}}`)+`"`, 1)
			}
		}
	}
	return `{"content":[` + strings.Join(blocks, ",") + `],"stop_reason":"`
}
