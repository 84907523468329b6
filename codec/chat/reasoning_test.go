package chat_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

func thought(s string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: s}}}
}

func signedThought(s string) *genwayv1.Part {
	p := thought(s)
	p.GetThinking().Signature = &genwayv1.Seal{Protocol: own, Value: []byte("sig")}
	return p
}

func calling(name string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "call_" + name, Name: name, Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: "{}"}}}}
}

func opaqueThought() *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: own, Type: "reasoning.new", Json: []byte(`{"type":"reasoning.new","x":1}`)}},
		NativeFields: []*genwayv1.NativeField{{Protocol: own, Name: "reasoning_details"}}}
}

// interleaved are answers whose thinking parts have other parts between them.
var interleaved = map[string][]*genwayv1.Part{
	"one thought":                              {thought("a"), text("x")},
	"two in a row":                             {thought("a"), thought("b"), text("x")},
	"a text between":                           {thought("a"), text("x"), thought("b")},
	"a call between":                           {thought("a"), calling("f"), thought("b")},
	"a text and a call between":                {thought("a"), text("x"), calling("f"), thought("b"), calling("g"), thought("c")},
	"the second says the first":                {thought("a"), text("x"), thought("a")},
	"the second begins the first":              {thought("ab"), text("x"), thought("b")},
	"the second is signed":                     {thought("a"), text("x"), signedThought("b")},
	"the first is signed":                      {signedThought("a"), text("x"), thought("b")},
	"an empty one first":                       {text("x"), thought("a"), text("y"), thought("b")},
	"one of an unknown kind after":             {thought("a"), text("x"), opaqueThought(), thought("b")},
	"nothing but one of an unknown kind after": {thought("a"), text("x"), opaqueThought()},
}

// TestStreamsDivideThinkingAsAnswersDo demands the entries of reasoning_details that the unary
// answer has, whatever parts are between the thoughts, and the parts back from the stream.
func TestStreamsDivideThinkingAsAnswersDo(t *testing.T) {
	for name, parts := range interleaved {
		t.Run(name, func(t *testing.T) {
			resp := answerOf(parts...)
			body, err := c.EncodeResponse(resp, codec.Answer{})
			if err != nil {
				t.Fatal(err)
			}
			frames := codectest.EncodeStream(t, c, codec.Events(resp, nil), codec.Answer{})
			var streamed []any
			for _, f := range frames[:len(frames)-1] {
				streamed = append(streamed, details(t, f.Data, "delta")...)
			}
			if diff := cmp.Diff(details(t, body, "message"), streamed); diff != "" {
				t.Errorf("(-unary +streamed):\n%s", diff)
			}
			back, err := codectest.DecodeStream(c, frames)
			if err != nil {
				t.Fatal(err)
			}
			said := slices.DeleteFunc(slices.Clone(parts), func(p *genwayv1.Part) bool { return p.GetThinking() != nil && p.GetThinking().Text == "" })
			if diff := cmp.Diff(said, back.Candidates[0].Parts, protocmp.Transform()); diff != "" {
				t.Errorf("the stream says (-parts +decoded):\n%s", diff)
			}
		})
	}
}

// details returns the entries of the first choice's reasoning_details.
func details(t *testing.T, data []byte, in string) []any {
	t.Helper()
	var a struct {
		Choices []map[string]any
	}
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	m, _ := a.Choices[0][in].(map[string]any)
	list, _ := m["reasoning_details"].([]any)
	return list
}
