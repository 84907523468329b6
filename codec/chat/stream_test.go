package chat_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

func text(s string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: s}}}
}

func answerOf(parts ...*genwayv1.Part) *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{Id: "a", Model: "m", Usage: &genwayv1.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3},
		Candidates: []*genwayv1.Candidate{{Parts: parts, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}}
}

func streamed(t *testing.T, resp *genwayv1.GenerateTextResponse, to codec.Answer) string {
	t.Helper()
	return codectest.Frames(codectest.EncodeStream(t, c, codec.Events(resp, nil), to))
}

func TestUsageComesOnceAndOnlyWhenAsked(t *testing.T) { // U1
	with := streamed(t, answerOf(text("hi")), codec.Answer{Request: &codec.Request{IncludeUsage: true}})
	if !strings.HasSuffix(with, `"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3},"service_tier":"default"}`+"\n\ndata: [DONE]\n\n") {
		t.Error(with)
	}
	if n := strings.Count(with, `"prompt_tokens"`); n != 1 {
		t.Errorf("usage %d times", n)
	}
	if without := streamed(t, answerOf(text("hi")), codec.Answer{}); strings.Contains(without, "usage") {
		t.Error(without)
	}
}

func TestFailuresEndWithoutSuccess(t *testing.T) { // S4
	for _, begun := range []bool{false, true} {
		e := c.NewStreamEncoder(codec.Answer{})
		if begun {
			for _, ev := range codec.Events(answerOf(text("half")), nil)[:3] {
				if _, err := e.Encode(ev); err != nil {
					t.Fatal(err)
				}
			}
		}
		frames := e.Fail(fault.New(fault.Overloaded, "", "busy"))
		want := `data: {"error":{"message":"busy","type":"server_error","param":null,"code":"server_overloaded"}}` + "\n\ndata: [DONE]\n\n"
		if got := codectest.Frames(frames); got != want {
			t.Error(got)
		}
		if more := e.Fail(fault.New(fault.Overloaded, "", "busy")); more != nil {
			t.Error("failed twice")
		}
		if more, err := e.Encode(codec.Event(&genwayv1.TextCompleted{})); more != nil || err != nil {
			t.Error("went on after a failure")
		}
	}
}

func TestPingsAreTheEdgesBusiness(t *testing.T) {
	frames, err := c.NewStreamEncoder(codec.Answer{}).Encode(codec.Event(&genwayv1.Ping{}))
	if len(frames) > 0 || err != nil {
		t.Errorf("%v %v", frames, err)
	}
}

func TestWireFramesPass(t *testing.T) {
	frame := func(data string) *genwayv1.StreamGenerateTextResponse {
		return codec.Event(&genwayv1.WireFrame{Protocol: own, Data: []byte(data)})
	}
	const chunk, usage = `{"choices":[{"index":0,"delta":{"content":"\u00e9"}}], "usage": null}`, `{"choices":[],"usage":{"prompt_tokens":1}}`
	for name, tc := range map[string]struct {
		frames []string
		asked  bool
		want   []string
	}{
		"usage nobody asked for": {[]string{chunk, usage, "[DONE]"}, false, []string{chunk, "[DONE]"}},
		"usage asked for":        {[]string{chunk, usage, "[DONE]"}, true, []string{chunk, usage, "[DONE]"}},
		"no terminator":          {[]string{chunk}, false, []string{chunk, "[DONE]"}},
	} {
		t.Run(name, func(t *testing.T) {
			var events []*genwayv1.StreamGenerateTextResponse
			for _, f := range tc.frames {
				events = append(events, frame(f))
			}
			events = append(events, codec.Event(&genwayv1.TextCompleted{Usage: &genwayv1.Usage{InputTokens: 1}}))
			var got []string
			for _, f := range codectest.EncodeStream(t, c, events, codec.Answer{Request: &codec.Request{IncludeUsage: tc.asked}}) {
				got = append(got, string(f.Data))
			}
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestInterleavedCandidates(t *testing.T) {
	start := func(candidate int32) *genwayv1.StreamGenerateTextResponse {
		return codec.Event(&genwayv1.PartStarted{Candidate: candidate, Part: text("")})
	}
	say := func(candidate int32, s string) *genwayv1.StreamGenerateTextResponse {
		return codec.Event(&genwayv1.PartDelta{Candidate: candidate, Delta: &genwayv1.PartDelta_Text{Text: s}})
	}
	end := func(candidate int32) *genwayv1.StreamGenerateTextResponse {
		return codec.Event(&genwayv1.PartCompleted{Candidate: candidate})
	}
	frames := codectest.EncodeStream(t, c, []*genwayv1.StreamGenerateTextResponse{
		codec.Event(&genwayv1.TextStarted{Id: "a"}), start(0), start(1), say(1, "b"), say(0, "a"), say(1, "B"), end(1), end(0),
		codec.Event(&genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{}, {Index: 1}}}),
	}, codec.Answer{})
	resp, err := codectest.DecodeStream(c, frames)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Candidates[0].Parts[0].GetText().Text + resp.Candidates[1].Parts[0].GetText().Text; got != "abB" {
		t.Error(got)
	}
	for _, word := range []string{`"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"`, `"index":1,"delta":{},"logprobs":null,"finish_reason":"stop"`} {
		if n := strings.Count(codectest.Frames(frames), word); n != 1 { // T4, T5, T7
			t.Errorf("%s: %d times", word, n)
		}
	}
}

func TestUsageWaitsForTheEnd(t *testing.T) { // U3
	d := c.NewStreamDecoder()
	for _, data := range []string{
		`{"id":"a","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`,
		`{"id":"a","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":8}}}`,
	} {
		events, err := d.Decode(codec.Frame{Data: []byte(data)})
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if ev.GetCompleted() != nil {
				t.Fatal("completed before the end")
			}
		}
	}
	events, err := d.Close()
	if err != nil || len(events) == 0 {
		t.Fatal(err)
	}
	end := events[len(events)-1].GetCompleted()
	if want := (&genwayv1.Usage{InputTokens: 9, OutputTokens: 1, TotalTokens: 10, CacheReadInputTokens: proto.Int64(8)}); !proto.Equal(end.GetUsage(), want) {
		t.Error(end.GetUsage())
	}
	if more, err := d.Close(); more != nil || err != nil {
		t.Errorf("closed twice: %v %v", more, err)
	}
}

func TestTextGoesOutAtOnce(t *testing.T) {
	d := c.NewStreamDecoder()
	events, err := d.Decode(codec.Frame{Data: []byte(`{"id":"a","choices":[{"index":0,"delta":{"content":"x"}}]}`)})
	if err != nil || len(events) != 3 || events[2].GetPartDelta().GetText() != "x" {
		t.Errorf("%v %v", events, err)
	}
	if events, err := d.Decode(codec.Frame{}); events != nil || err != nil {
		t.Errorf("an empty frame says %v %v", events, err)
	}
	_, err = d.Close()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.BadUpstream || f.Reason != fault.ReasonStreamCut {
		t.Error(err)
	}
}

func TestNoFrameHasALineBreak(t *testing.T) {
	resp := answerOf(text("a\nb\r\n"))
	resp.NativeFields = []*genwayv1.NativeField{{Protocol: own, Name: "x", Json: []byte("{\n\"a\":\n1}")}}
	resp.Candidates[0].NativeFields = []*genwayv1.NativeField{{Protocol: own, Name: "y", Json: []byte("[\n]")}}
	for _, f := range codectest.EncodeStream(t, c, codec.Events(resp, nil), codec.Answer{}) {
		if bytes.ContainsAny(f.Data, "\r\n") {
			t.Errorf("%q", f.Data)
		}
	}
}

func TestForeignSealsComeBack(t *testing.T) { // R1, R6
	answer := answerOf(
		&genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: "hm", Signature: &genwayv1.Seal{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Value: []byte("sig+/=")}}}},
		&genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{EncryptedContent: &genwayv1.Seal{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Value: []byte("red")}}}},
		&genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "a", Name: "f", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: "{}"}}},
			ThoughtSignature: &genwayv1.Seal{Protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, Value: []byte{0, 255}}},
	)
	body, err := c.EncodeResponse(answer, codec.Answer{})
	if err != nil {
		t.Fatal(err)
	}
	message := body[bytes.Index(body, []byte(`"message":`))+len(`"message":`) : bytes.Index(body, []byte(`,"logprobs"`))]
	req, err := c.DecodeRequest(append(append([]byte(`{"model":"m","messages":[`), message...), "]}"...))
	if err != nil {
		t.Fatal(err)
	}
	got := req.Messages[0].Parts
	for i, want := range answer.Candidates[0].Parts {
		if !proto.Equal(got[i], want) {
			t.Errorf("%v became %v", want, got[i])
		}
	}
}

// TestAStreamThatCannotBeToldFails demands an error for a native field that stands in for
// a member of the chunks, and no answer that looks whole without the chunk it was in.
func TestAStreamThatCannotBeToldFails(t *testing.T) {
	e := c.NewStreamEncoder(codec.Answer{})
	smuggled := &genwayv1.NativeField{Protocol: own, Name: "model", Json: []byte(`"other"`)}
	var failed error
	for _, ev := range codec.Events(&genwayv1.GenerateTextResponse{Model: "m", Candidates: []*genwayv1.Candidate{{}}, NativeFields: []*genwayv1.NativeField{smuggled}}, nil) {
		if _, err := e.Encode(ev); err != nil {
			failed = err
		}
	}
	var f *fault.Error
	if !errors.As(failed, &f) || f.Kind != fault.BadUpstream {
		t.Fatalf("%v", failed)
	}
}
