package codec_test

import (
	"testing"
	"time"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The results of very many calls without identifiers are paired at a cost that grows with their
// number alone. The bound is far above what that takes on a slow machine, and far below the square.
func TestU43PairingIsCheap(t *testing.T) {
	const many = 100_000
	called := &genwayv1.Message{Role: genwayv1.Role_ROLE_ASSISTANT}
	answered := &genwayv1.Message{Role: genwayv1.Role_ROLE_TOOL}
	for range many {
		called.Parts = append(called.Parts, codec.CallPart("f", "{}"))
		answered.Parts = append(answered.Parts, &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{Name: "f"}}})
	}
	since := time.Now()
	paired := codec.Pair([]*genwayv1.Message{called, answered}, nil)
	if took := time.Since(since); took > 20*time.Second {
		t.Errorf("%d calls take %v", many, took)
	}
	for i, p := range paired[1].Parts {
		if id := p.GetToolResult().GetToolCallId(); id == "" || id != paired[0].Parts[i].GetToolCall().GetId() {
			t.Fatalf("result %d answers %q, not %q", i, id, paired[0].Parts[i].GetToolCall().GetId())
		}
	}
}
