package codec

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// efforts pairs the words for how much to think with the token budget that
// stands for the same, ascending. The budgets are those the vendor of
// generateContent publishes for its OpenAI-compatible endpoint (1,024, 8,192,
// 24,576), extended at both ends.
var efforts = []struct {
	effort string
	budget int32
}{
	{"none", 0},
	{"minimal", 512},
	{"low", 1024},
	{"medium", 8192},
	{"high", 24576},
	{"xhigh", 32768},
	{"max", 65536},
}

// Budget returns a token budget for a thinking configuration that has perhaps only
// an effort; ok is false when neither is known.
func Budget(t *genwayv1.ThinkingConfig) (tokens int32, ok bool) {
	if t.GetBudgetTokens() != 0 || t != nil && t.BudgetTokens != nil {
		return t.GetBudgetTokens(), true
	}
	for _, e := range efforts {
		if e.effort == t.GetEffort() {
			return e.budget, true
		}
	}
	if t.GetMode() == genwayv1.ThinkingConfig_MODE_DISABLED {
		return 0, true
	}
	return 0, false
}

// Effort returns an effort for a thinking configuration that has perhaps only a
// budget; ok is false when neither is known, or the model is to decide.
func Effort(t *genwayv1.ThinkingConfig) (effort string, ok bool) {
	if t.GetEffort() != "" {
		return t.GetEffort(), true
	}
	if t != nil && t.BudgetTokens != nil {
		budget := t.GetBudgetTokens()
		if budget < 0 {
			return "", false
		}
		word := "none"
		for _, e := range efforts[1:] {
			if budget > 0 && (word == "none" || budget >= e.budget) {
				word = e.effort
			}
		}
		return word, true
	}
	if t.GetMode() == genwayv1.ThinkingConfig_MODE_DISABLED {
		return "none", true
	}
	return "", false
}
