package generatecontent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

func TestThinking(t *testing.T) {
	for _, c2 := range []struct {
		name, model string
		thinking    *genwayv1.ThinkingConfig
		config      string
		losses      int
	}{
		{"effort", "gemini-3-pro", &genwayv1.ThinkingConfig{Effort: "low"}, `{"thinkingLevel":"LOW"}`, 0},
		{"effort for budgets", "gemini-2.5-flash", &genwayv1.ThinkingConfig{Effort: "low"}, `{"thinkingBudget":1024}`, 0},
		{"none", "gemini-3-pro", &genwayv1.ThinkingConfig{Effort: "none"}, `{"thinkingBudget":0}`, 0},
		{"R9 xhigh", "gemini-3-pro", &genwayv1.ThinkingConfig{Effort: "xhigh"}, `{"thinkingLevel":"HIGH"}`, 1},
		{"R9 unknown", "gemini-3-pro", &genwayv1.ThinkingConfig{Effort: "novel"}, `{"thinkingLevel":"NOVEL"}`, 0},
		{"disabled", "", &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_DISABLED}, `{"thinkingBudget":0}`, 0},
		{"enabled", "", &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_ENABLED, BudgetTokens: proto.Int32(2000)}, `{"includeThoughts":true,"thinkingBudget":2000}`, 0},
		{"adaptive", "", &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_ADAPTIVE}, `{"includeThoughts":true,"thinkingBudget":-1}`, 0},
		{"both", "", &genwayv1.ThinkingConfig{Effort: "low", BudgetTokens: proto.Int32(1)}, `{"thinkingBudget":1}`, 1},
		{"summary", "gemini-3-pro", &genwayv1.ThinkingConfig{Effort: "high", Summary: "auto"}, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`, 0},
	} {
		t.Run(c2.name, func(t *testing.T) {
			var losses codec.Losses
			out, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{
				Model:    c2.model,
				Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{textPart("x")}}}, Thinking: c2.thinking}}, &losses)
			if err != nil || !strings.Contains(string(out), `"thinkingConfig":`+c2.config+`}`) || len(losses.List()) != c2.losses {
				t.Errorf("%s, %v, %v", out, err, losses.List())
			}
		})
	}
}

// TestSealsComeBack: thinking of other upstreams survives the caller's round trip,
// streamed or not (cases R1, R6, R8).
func TestSealsComeBack(t *testing.T) {
	sealed := func(origin genwayv1.Protocol) *genwayv1.Seal {
		return &genwayv1.Seal{Protocol: origin, Value: []byte("s+/=")}
	}
	messages, responses, chat := genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_RESPONSES, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
	for name, thoughts := range map[string][]*genwayv1.Thinking{
		"signed, then redacted": {{Text: "Let me see.", Signature: sealed(messages)}, {EncryptedContent: sealed(messages)}},
		"summary":               {{Summary: []string{"Let me see."}, EncryptedContent: sealed(responses)}},
		"no summary":            {{EncryptedContent: sealed(responses)}, {EncryptedContent: sealed(responses)}},
		"chat, encrypted":       {{Text: "Let me see.", EncryptedContent: sealed(chat)}, {EncryptedContent: sealed(chat)}},
		"chat, signed":          {{Text: "Let me see.", Signature: sealed(chat)}},
	} {
		t.Run(name, func(t *testing.T) { comesBack(t, thoughts) })
	}
}

func comesBack(t *testing.T, thoughts []*genwayv1.Thinking) {
	var want []*genwayv1.Part
	for _, thought := range thoughts {
		want = append(want, &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: thought}})
	}
	resp := &genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{Parts: append(want, textPart("Yes.")),
		StopReason: genwayv1.StopReason_STOP_REASON_END_TURN, NativeStopReason: "STOP"}}}
	for name, split := range map[string]codec.Splitter{"whole": nil, "pieces": halves} {
		t.Run(name, func(t *testing.T) {
			var parts []string
			for _, f := range codectest.EncodeStream(t, c, codec.Events(resp, split), codec.Answer{}) {
				var body struct {
					Candidates []struct {
						Content struct{ Parts []json.RawMessage }
					}
				}
				if err := json.Unmarshal(f.Data, &body); err != nil {
					t.Fatal(err)
				}
				for _, p := range body.Candidates[0].Content.Parts {
					parts = append(parts, string(p))
				}
			}
			req, err := c.DecodeRequest([]byte(`{"contents":[{"role":"model","parts":[` + strings.Join(parts, ",") + `]}]}`))
			if err != nil {
				t.Fatal(err)
			}
			got := req.Messages[0].Parts
			for i := range want {
				if !proto.Equal(got[i], want[i]) {
					t.Errorf("%d: %v, want %v", i, got[i], want[i])
				}
			}
		})
	}
}
