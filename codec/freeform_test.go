package codec_test

import (
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"pgregory.net/rapid"
)

func customTool(name string) []*genwayv1.Tool {
	return []*genwayv1.Tool{{Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: name}}}}
}

func called(name, arguments string) *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{Parts: []*genwayv1.Part{
		{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "c", Name: name, Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: arguments}}}},
	}}}}
}

// The text of a free-form call is what the arguments hold that stand for it, streamed
// or not; calls of functions are not changed, and arguments of another form are the text.
func TestFreeFormCallsAreRestored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := rapid.String().Draw(t, "input")
		arguments := codec.FreeFormArguments(input)
		if rapid.IntRange(0, 3).Draw(t, "form") == 0 {
			arguments = rapid.SampledFrom([]string{`{"in`, `{"other":1}`, `null`, `"cut`, `{"input":1}`}).Draw(t, "arguments")
			input = arguments
		}
		unary := called("run", arguments)
		codec.NewFreeForm(customTool("run")).Response(unary)
		if call := unary.Candidates[0].Parts[0].GetToolCall(); !codec.IsCustom(call) || call.GetInput() != input || call.GetArgumentsJson() != "" {
			t.Fatalf("%q became %v", arguments, call)
		}
		split := func(s string) []string {
			if s == "" {
				return nil
			}
			return []string{s[:len(s)/2], s[len(s)/2:]}
		}
		var fold codec.Accumulator
		for _, ev := range codec.NewFreeForm(customTool("run")).Events(codec.Events(called("run", arguments), split)) {
			if err := fold.Add(ev); err != nil {
				t.Fatal(err)
			}
		}
		if call := fold.Response().Candidates[0].Parts[0].GetToolCall(); !codec.IsCustom(call) || call.GetInput() != input || call.GetArgumentsJson() != "" {
			t.Fatalf("streamed, %q became %v", arguments, call)
		}
	})
	text := called("run", `"ls\n"`)
	codec.NewFreeForm(customTool("run")).Response(text)
	if call := text.Candidates[0].Parts[0].GetToolCall(); call.GetInput() != "ls\n" {
		t.Errorf("a string alone became %v", call)
	}
	other := called("look", `{"input":"x"}`)
	codec.NewFreeForm(customTool("run")).Response(other)
	codec.NewFreeForm(nil).Response(other)
	if call := other.Candidates[0].Parts[0].GetToolCall(); codec.IsCustom(call) || call.GetArgumentsJson() != `{"input":"x"}` {
		t.Errorf("a function's call became %v", call)
	}
}
