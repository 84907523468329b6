package codec_test

import (
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/cpu"
)

// The results of very many calls without identifiers are paired at a cost that grows with their
// number, and not with its square.
func TestU43PairingIsCheap(t *testing.T) {
	var paired []*genwayv1.Message
	cpu.Linear(t, 100_000, func(n int) func() {
		called := &genwayv1.Message{Role: genwayv1.Role_ROLE_ASSISTANT}
		answered := &genwayv1.Message{Role: genwayv1.Role_ROLE_TOOL}
		for range n {
			called.Parts = append(called.Parts, codec.CallPart("f", "{}"))
			answered.Parts = append(answered.Parts, &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{Name: "f"}}})
		}
		return func() { paired = codec.Pair([]*genwayv1.Message{called, answered}, nil) }
	})
	for i, p := range paired[1].Parts {
		if id := p.GetToolResult().GetToolCallId(); id == "" || id != paired[0].Parts[i].GetToolCall().GetId() {
			t.Fatalf("result %d answers %q, not %q", i, id, paired[0].Parts[i].GetToolCall().GetId())
		}
	}
}
