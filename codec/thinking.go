package codec

import (
	"slices"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// SummaryBreak separates the summaries and the text of one thinking part in protocols that
// show both in one text.
const SummaryBreak = "\n\n"

// ThinkingText returns the summaries of a thinking part and its text as one text.
func ThinkingText(t *genwayv1.Thinking) string {
	if len(t.GetSummary()) == 0 {
		return t.GetText()
	}
	pieces := make([]string, 0, len(t.Summary)+1)
	for _, s := range slices.Concat(t.Summary, []string{t.Text}) {
		if s != "" {
			pieces = append(pieces, s)
		}
	}
	return strings.Join(pieces, SummaryBreak)
}
