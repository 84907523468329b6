package codec_test

import (
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// A conversation of which a part is replaced shares all else with the one before, which stays as it is.
func TestRewrittenParts(t *testing.T) {
	before := []*genwayv1.Message{
		{Parts: []*genwayv1.Part{codec.TextPart("a")}},
		{Name: "second", Parts: []*genwayv1.Part{codec.TextPart("b"), {Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "c"}}}}},
		nil,
	}
	copied := make([]*genwayv1.Message, len(before))
	for i, m := range before {
		copied[i] = proto.CloneOf(m)
	}
	if same, changed := codec.RewrittenParts(before, func(_, _ int, _ *genwayv1.Part) *genwayv1.Part { return nil }); changed || &same[0] != &before[0] {
		t.Error("a conversation of which nothing is replaced is the same list")
	}
	after, changed := codec.RewrittenParts(before, func(message, i int, p *genwayv1.Part) *genwayv1.Part {
		if message != 1 || i != 1 {
			return nil
		}
		return codec.WithCall(p, func(call *genwayv1.ToolCall) { call.Id = "d" })
	})
	if !changed || after[0] != before[0] || after[1].GetParts()[0] != before[1].GetParts()[0] || after[1].GetName() != "second" || after[1].GetParts()[1].GetToolCall().GetId() != "d" {
		t.Errorf("%v, %t", after, changed)
	}
	for i, m := range before {
		if !proto.Equal(m, copied[i]) {
			t.Errorf("message %d was changed to %v", i, m)
		}
	}
	if none, changed := codec.RewrittenParts(nil, func(_, _ int, p *genwayv1.Part) *genwayv1.Part { return p }); changed || none != nil {
		t.Errorf("no messages become %v", none)
	}
}

// A changed result leaves the part that it was made of as it is.
func TestWithResult(t *testing.T) {
	before := &genwayv1.Part{Id: "p", Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: "a", Name: "n"}}}
	after := codec.WithResult(before, func(r *genwayv1.ToolResult) { r.ToolCallId = "b" })
	if r := after.GetToolResult(); after.GetId() != "p" || r.GetToolCallId() != "b" || r.GetName() != "n" || before.GetToolResult().GetToolCallId() != "a" {
		t.Errorf("%v of %v", after, before)
	}
}
