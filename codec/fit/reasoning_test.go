package fit_test

import (
	"testing"

	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// A direct caller's own words stand, and the request is not changed.
func TestReasoning(t *testing.T) {
	sealed := &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{EncryptedContent: &genwayv1.Seal{Protocol: responses, Value: []byte("e")}}}}
	foreign := &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{EncryptedContent: &genwayv1.Seal{Protocol: messages, Value: []byte("e")}}}}
	for name, tt := range map[string]struct {
		req            *genwayv1.GenerateTextRequest
		asked, summary bool
	}{
		"nothing":           {&genwayv1.GenerateTextRequest{Model: "m"}, false, false},
		"an effort":         {&genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{Effort: "low"}}, true, true},
		"a budget":          {&genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{BudgetTokens: new(int32(-1))}}, true, true},
		"no budget":         {&genwayv1.GenerateTextRequest{Model: "gpt-5", Thinking: &genwayv1.ThinkingConfig{BudgetTokens: new(int32(0))}}, false, false},
		"off":               {&genwayv1.GenerateTextRequest{Model: "gpt-5", Thinking: &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_DISABLED}}, false, false},
		"thoughts declined": {&genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{Effort: "low", IncludeThoughts: new(false)}}, true, false},
		"reasoned before":   {&genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{turn(genwayv1.Role_ROLE_ASSISTANT, sealed)}}, true, false},
		"another reasoned":  {&genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{turn(genwayv1.Role_ROLE_ASSISTANT, foreign)}}, false, false},
		"never reasons":     {&genwayv1.GenerateTextRequest{Model: "gpt-4o", Messages: []*genwayv1.Message{turn(genwayv1.Role_ROLE_ASSISTANT, sealed)}}, false, false},
		"only chats":        {&genwayv1.GenerateTextRequest{Model: "openai/gpt-5.2-chat-latest", Messages: []*genwayv1.Message{turn(genwayv1.Role_ROLE_ASSISTANT, sealed)}}, false, false},
		"always reasons":    {&genwayv1.GenerateTextRequest{Model: "openai/gpt-5.1-codex"}, true, false},
		"says it itself": {&genwayv1.GenerateTextRequest{Store: new(true), Thinking: &genwayv1.ThinkingConfig{Effort: "low", Summary: "detailed"},
			NativeFields: []*genwayv1.NativeField{{Protocol: responses, Name: "include", Json: []byte(`[]`)}}}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := proto.CloneOf(tt.req)
			got := fit.Reasoning(tt.req, rulesOf(responses))
			if !proto.Equal(before, tt.req) || fit.Reasoning(tt.req, rulesOf(chat)) != tt.req {
				t.Fatal("the request is changed, or that of another protocol")
			}
			if (got.Thinking.GetSummary() == "auto") != tt.summary || (len(got.NativeFields) == 1) != tt.asked {
				t.Errorf("%v", got)
			}
			if own := len(tt.req.NativeFields) > 0; tt.asked && (got.Store == nil || got.GetStore() != own || own && string(got.NativeFields[0].Json) != `[]`) {
				t.Errorf("store %v, %v", got.Store, got.NativeFields)
			}
		})
	}
}
