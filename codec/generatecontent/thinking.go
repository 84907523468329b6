package generatecontent

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

func (w *thinkingConfig) decode(path string) (*genwayv1.ThinkingConfig, error) {
	t := &genwayv1.ThinkingConfig{IncludeThoughts: w.IncludeThoughts, Effort: strings.ToLower(w.ThinkingLevel)}
	var err error
	if t.BudgetTokens, err = int32Of(w.ThinkingBudget, path, "thinkingBudget"); err != nil {
		return nil, err
	}
	t.NativeFields, err = natives(w.Extra, path, nil)
	return t, err
}

// encodeThinking writes how much to think: a budget where there is one, else a
// level. Models of the second generation know budgets only (the vendor's guide to
// thinking), and none of them takes a level above HIGH.
func encodeThinking(req *genwayv1.GenerateTextRequest, losses *codec.Losses) (*thinkingConfig, error) {
	t := req.Thinking
	if t == nil {
		return nil, nil
	}
	w := &thinkingConfig{IncludeThoughts: t.IncludeThoughts, ThinkingBudget: integerOf(t.BudgetTokens)}
	if t.IncludeThoughts == nil && (t.Summary != "" || t.Mode == genwayv1.ThinkingConfig_MODE_ENABLED || t.Mode == genwayv1.ThinkingConfig_MODE_ADAPTIVE) {
		// Asking for a summary, or turning thinking on in a protocol that always
		// shows it, asks to see thoughts.
		show := true
		w.IncludeThoughts = &show
	}
	switch budget, known := codec.Budget(t); {
	case w.ThinkingBudget != nil:
		if t.Effort != "" {
			losses.Add("thinking.effort", "the target protocol takes a budget or an effort, not both")
		}
	case t.Effort != "" && t.Effort != "none" && (!known || !strings.Contains(req.Model, "gemini-2")):
		w.ThinkingLevel = level(t.Effort, losses)
	case known:
		w.ThinkingBudget = integerOf(&budget)
	case t.Mode == genwayv1.ThinkingConfig_MODE_ENABLED || t.Mode == genwayv1.ThinkingConfig_MODE_ADAPTIVE:
		dynamic := integer(-1)
		w.ThinkingBudget = &dynamic
	}
	var err error
	w.Extra, err = member.Extra(protocol, t.NativeFields, "thinking", losses)
	return w, err
}

func level(effort string, losses *codec.Losses) string {
	if effort == "xhigh" || effort == "max" {
		losses.Add("thinking.effort", "the highest level of the target protocol is high")
		effort = "high"
	}
	return strings.ToUpper(effort)
}
