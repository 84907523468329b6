package catalog

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Both returns what is known to hold for the models of two rows: the smaller limits, what both take, and what one
// of them refuses. What is not known of one is not known of both.
func (r Row) Both(o Row) Row {
	both := Row{
		Model: r.Model, Context: less(r.Context, o.Context, false), MaxOutput: less(r.MaxOutput, o.MaxOutput, false),
		Input: shared(r.Input, o.Input), Output: shared(r.Output, o.Output), Efforts: shared(r.Efforts, o.Efforts),
		MinBudget: less(r.MinBudget, o.MinBudget, true), MaxBudget: less(r.MaxBudget, o.MaxBudget, false),
		Tools: all(r.Tools, o.Tools), StructuredOutput: all(r.StructuredOutput, o.StructuredOutput),
	}
	if refuses := slices.Concat(listOf(r.Refuses), listOf(o.Refuses)); len(refuses) > 0 {
		slices.Sort(refuses)
		refuses = slices.Compact(refuses)
		both.Refuses = &refuses
	}
	if r.thinkers() == o.thinkers() {
		both.Thinking = r.Thinking
	}
	if r.Thinks == o.Thinks {
		both.Thinks = r.Thinks
	}
	return both
}

// thinkers tells apart models that think, models that do not and models of which it is not known.
func (r Row) thinkers() string {
	switch {
	case r.Thinking == nil:
		return ""
	case len(*r.Thinking) == 0:
		return "never"
	}
	return "some"
}

// less returns the smaller of two limits, or the larger; nil if one is not known.
func less(a, b *int64, larger bool) *int64 {
	if a == nil || b == nil {
		return nil
	}
	if (*a < *b) != larger {
		return a
	}
	return b
}

func all(a, b *bool) *bool {
	if a == nil || b == nil {
		return nil
	}
	return new(*a && *b)
}

func shared(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(word string) bool { return !slices.Contains(b, word) })
}

// when are the contract's values of Times.
var when = map[string]genwayv1.ModelThinking_When{
	Asked: genwayv1.ModelThinking_WHEN_ASKED, Default: genwayv1.ModelThinking_WHEN_DEFAULT, Always: genwayv1.ModelThinking_WHEN_ALWAYS,
}

// Describe adds what the row knows to the description of a model, where that does not say it.
func (r Row) Describe(m *genwayv1.Model) {
	m.ContextTokenLimit = either(m.ContextTokenLimit, r.Context)
	m.OutputTokenLimit = either(m.OutputTokenLimit, r.MaxOutput)
	m.TakesTools, m.TakesJsonSchema = either(m.TakesTools, r.Tools), either(m.TakesJsonSchema, r.StructuredOutput)
	if len(m.Inputs) == 0 {
		m.Inputs = modalities(r.Input)
	}
	if len(m.Outputs) == 0 {
		m.Outputs = modalities(r.Output)
	}
	if m.Thinking == nil && r.Thinking != nil {
		m.Thinking = r.thinking()
	}
	if len(m.RefusedFields) == 0 {
		for _, s := range setting.Texts() {
			if r.refuses(s.Name()) {
				m.RefusedFields = append(m.RefusedFields, s.Field)
			}
		}
	}
}

// thinking describes how a model is asked to think of which that is known.
func (r Row) thinking() *genwayv1.ModelThinking {
	if len(*r.Thinking) == 0 {
		return &genwayv1.ModelThinking{When: genwayv1.ModelThinking_WHEN_NEVER}
	}
	t := &genwayv1.ModelThinking{When: when[r.Thinks], Efforts: r.Efforts}
	if r.takes(Budget) {
		t.MinBudgetTokens, t.MaxBudgetTokens = r.MinBudget, r.MaxBudget
	}
	return t
}

func modalities(words []string) []genwayv1.Modality {
	var list []genwayv1.Modality
	for _, word := range words {
		list = append(list, genwayv1.Modality(genwayv1.Modality_value["MODALITY_"+strings.ToUpper(word)]))
	}
	return list
}
