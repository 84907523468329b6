package codec_test

import (
	"strings"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Of an effort and a budget, a protocol of efforts gets the effort, and one of budgets the budget; messages has both.
func TestThinkingPrecedence(t *testing.T) {
	members := map[genwayv1.Protocol]string{
		genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: `"reasoning_effort":"high"`,
		genwayv1.Protocol_PROTOCOL_RESPONSES:        `"reasoning":{"effort":"high"}`,
		genwayv1.Protocol_PROTOCOL_MESSAGES:         `"thinking":{"type":"enabled","budget_tokens":2048},"output_config":{"effort":"high"}`,
		genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: `"thinkingConfig":{"thinkingBudget":2048}`,
	}
	for protocol, want := range members {
		req := direct()
		req.MaxOutputTokens, req.Thinking = new(int64(9000)), &genwayv1.ThinkingConfig{Effort: "high", BudgetTokens: new(int32(2048))}
		if body, err := encoders[protocol](req); err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%v: %s, %v, want %s in it", protocol, body, err, want)
		}
	}
}
