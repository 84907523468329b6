package sandbox

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
)

// thinks reports whether a request asks for thinking: by a mode, a budget or an
// effort that is not zero, none or disabled.
func thinks(t *genwayv1.ThinkingConfig) bool {
	switch {
	case t == nil, t.GetMode() == genwayv1.ThinkingConfig_MODE_DISABLED, t.GetEffort() == "none":
		return false
	case t.BudgetTokens != nil:
		return t.GetBudgetTokens() != 0
	}
	return t.GetMode() != genwayv1.ThinkingConfig_MODE_UNSPECIFIED || t.GetEffort() != ""
}

// think returns the thinking part of a candidate, or nil, and the tokens it cost.
// It takes at most half of a limit on the answer's tokens, and no more than its budget.
//
//	include_thoughts  true: shown; false: counted, not shown
//	absent            shown, but on generateContent, which shows thoughts only when
//	                  asked, and on responses, which shows summaries only when asked
//	summary           in place of the text, once the protocol knows summaries
func think(req *genwayv1.GenerateTextRequest, c *conversation, calls []*genwayv1.ToolCall) (part *genwayv1.Part, cost int) {
	config := req.GetThinking()
	if !thinks(config) {
		return nil, 0
	}
	text := thoughts(c, calls)
	if req.MaxOutputTokens != nil {
		text, _ = tokens.Cut(text, int(min(req.GetMaxOutputTokens()/2, maxThoughts)))
	}
	if budget := config.GetBudgetTokens(); budget > 0 {
		text, _ = tokens.Cut(text, int(budget))
	}
	cost = tokens.Count(text)
	thinking, own := &genwayv1.Thinking{}, traitsOf(req.GetWire().GetProtocol())
	switch {
	case config.GetSummary() != "":
		thinking.Summary = []string{text}
	case config.IncludeThoughts != nil && !config.GetIncludeThoughts():
	case config.IncludeThoughts == nil && own.hidesThoughts:
	case own.encryptsThoughts:
	default:
		thinking.Text = text
	}
	switch {
	case own.encryptsThoughts:
		if includes(req, "reasoning.encrypted_content") {
			thinking.EncryptedContent = seal(req, text)
		}
	case thinking.Text != "":
		thinking.Signature = seal(req, text)
	}
	if thinking.Text == "" && thinking.Summary == nil && thinking.EncryptedContent == nil {
		return nil, cost
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: thinking}}, cost
}

// maxThoughts is more tokens than thoughts ever has.
const maxThoughts = 1 << 10

// thoughts stands where a model's reasoning would stand, and says that it is none.
func thoughts(c *conversation, calls []*genwayv1.ToolCall) string {
	prompt := strings.Join(strings.Fields(c.prompt()), " ")
	text := "This stands in place of a model's reasoning. The turn has " + count(len(c.prompts), "text")
	if n := len(c.results); n > 0 {
		text += " and " + count(n, "tool result")
	}
	if prompt != "" {
		text += ": " + quote(prompt, 80)
	}
	text += ". Before it came " + count(len(c.earlier), "turn") + ". "
	if len(calls) == 0 {
		return text + "The answer needs no tool."
	}
	var names []string
	for _, call := range calls {
		names = append(names, clip(call.GetName(), 60))
	}
	return text + "The answer calls " + strings.Join(names, ", ") + "."
}

// includes reports whether a responses request asks for more of the answer.
func includes(req *genwayv1.GenerateTextRequest, what string) bool {
	for _, n := range req.GetNativeFields() {
		if n.GetName() == "include" && strings.Contains(string(n.GetJson()), `"`+what+`"`) {
			return true
		}
	}
	return false
}

// redacted is thinking that only its maker can read.
func redacted(req *genwayv1.GenerateTextRequest) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{
		EncryptedContent: seal(req, "redacted thinking"),
	}}}
}
