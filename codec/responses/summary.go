package responses

import (
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Callers that ask for a summary of the reasoning (reasoning.summary) show summaries,
// and no reasoning_text, which they do not expect of models they ask so. Upstreams of
// other protocols show their thinking as it is: to these callers it is the summary.

// summarizes reports whether the answer's caller asked for a summary.
func summarizes(to codec.Answer) bool {
	return to.Request != nil && to.Request.GetThinking().GetSummary() != ""
}

// thoughtElsewhere reports whether a part is not a reasoning item of an upstream of
// this protocol, which knows itself what of it is the summary.
func thoughtElsewhere(p *genwayv1.Part) bool {
	return p.GetThinking() != nil && (!strings.HasPrefix(p.Id, prefixReasoning) || IsSyntheticID(p.Id))
}

// asSummary returns thinking whose text is written as the first of its summaries.
func asSummary(t *genwayv1.Thinking) *genwayv1.Thinking {
	return &genwayv1.Thinking{Summary: append([]string{t.GetText()}, t.GetSummary()...),
		Signature: t.GetSignature(), EncryptedContent: t.GetEncryptedContent()}
}
