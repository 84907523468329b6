package responses_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

func thought(id string) *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{Id: "r", Model: "m", Candidates: []*genwayv1.Candidate{{Parts: []*genwayv1.Part{
		{Id: id, Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: "Hm.",
			Signature: &genwayv1.Seal{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Value: []byte("sig")}}}},
		textOf("", "Yes."),
	}}}}
}

// Thinking of another protocol is the summary of a caller who asked for one, streamed
// or not; without the ask, and of an upstream of this protocol, it is what it was.
func TestThinkingIsTheSummaryThatWasAskedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		id, summary string
		summarized  bool
	}{
		"asked":             {"", "auto", true},
		"not asked":         {"", "", false},
		"an item's own":     {"rs_1", "auto", false},
		"an item's of ours": {"rs_gw0123456789abcdef", "detailed", true},
	} {
		t.Run(name, func(t *testing.T) {
			asked := &codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{Model: "m",
				Thinking: &genwayv1.ThinkingConfig{Summary: tt.summary}}}
			unary, err := c.EncodeResponse(thought(tt.id), codec.Answer{Request: asked})
			if err != nil {
				t.Fatal(err)
			}
			frames := codectest.EncodeStream(t, c, codec.Events(thought(tt.id), func(s string) []string { return strings.SplitAfter(s, "m") }), codec.Answer{Request: asked})
			all := codectest.Frames(frames)
			if got := strings.Contains(string(unary), `"summary":[{"type":"summary_text","text":"Hm."}]`); got != tt.summarized {
				t.Errorf("summarized: %v in %s", got, unary)
			}
			if got := strings.Contains(all, "event: response.reasoning_summary_text.done") || strings.Contains(all, "response.reasoning_summary_text.done"); got != tt.summarized {
				t.Errorf("summarized: %v in %s", got, all)
			}
			if strings.Contains(all+string(unary), "reasoning_text") == tt.summarized {
				t.Errorf("reasoning_text as well as a summary, or neither: %s", all)
			}
			checkOrder(t, frames)
			if last := string(frames[len(frames)-1].Data); !strings.Contains(last, string(unary)) {
				t.Errorf("the stream ends with\n%s\nthe unary body is\n%s", last, unary)
			}
		})
	}
}

// A caller who gives the summary back gives back what was signed.
func TestASummaryComesBackAsTheThinkingThatWasSigned(t *testing.T) {
	asked := &codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{Model: "m", Thinking: &genwayv1.ThinkingConfig{Summary: "auto"}}}
	unary, err := c.EncodeResponse(thought(""), codec.Answer{Request: asked})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.DecodeResponse(unary)
	if err != nil {
		t.Fatal(err)
	}
	want := thought("").Candidates[0].Parts[0].GetThinking()
	if have := got.Candidates[0].Parts[0].GetThinking(); !proto.Equal(have, want) {
		t.Errorf("said %v, came back %v", want, have)
	}
}
