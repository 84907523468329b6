package fit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The responses protocol returns reasoning only when it is asked to: sealed by an element of
// include, in words by reasoning.summary. Callers of the other protocols cannot ask for either,
// although they send reasoning back with the next turn (case R8).
const (
	includeName      = "include"
	includeReasoning = `"reasoning.encrypted_content"`
	summaryAuto      = "auto"
)

// reasoners are models of the vendor that always reason. Its others refuse to be asked for what
// they seal ("Encrypted content is not supported with this model").
var (
	reasoners = regexp.MustCompile(`^(o[0-9]|gpt-[5-9]|gpt-[0-9]{2}|codex-|computer-use)`)
	vendors   = regexp.MustCompile(`^(gpt-[0-9]|chatgpt-)`)
)

// reasoner reports whether a model always reasons, and whether its name says so or the contrary.
func reasoner(model string) (reasons, known bool) {
	model = model[strings.LastIndexByte(model, '/')+1:]
	reasons = reasoners.MatchString(model) && !strings.Contains(model, "-chat")
	return reasons, reasons || vendors.MatchString(model)
}

// Reasoning returns the request so that an upstream whose vendor seals reasoning returns
// reasoning that the caller can send back. The vendor need not keep it: so store is false
// unless the caller asks otherwise. A summary is asked for where the caller asks for thinking and
// does not decline to see it. Upstreams of other vendors need nothing.
func Reasoning(req *genwayv1.GenerateTextRequest, rules Rules) *genwayv1.GenerateTextRequest {
	if !rules.SealsReasoning {
		return req
	}
	asked, declined := thinks(req.GetThinking())
	reasons, known := reasoner(req.GetModel())
	if declined || !asked && !reasons && (known || !slices.ContainsFunc(req.GetMessages(), reasoned)) {
		return req
	}
	out := codec.Shared(req)
	out.NativeFields = included(req.GetNativeFields())
	if out.Store == nil {
		out.Store = new(bool)
	}
	if t := req.GetThinking(); asked && t.GetSummary() == "" && (t.IncludeThoughts == nil || t.GetIncludeThoughts()) {
		out.Thinking = codec.Shared(t)
		out.Thinking.Summary = summaryAuto
	}
	return out
}

// thinks reports whether a configuration asks for thinking, or declines it.
func thinks(t *genwayv1.ThinkingConfig) (asked, declined bool) {
	switch {
	case t.GetMode() == genwayv1.ThinkingConfig_MODE_DISABLED, t.GetEffort() == "none", t != nil && t.BudgetTokens != nil && t.GetBudgetTokens() == 0:
		return false, true
	}
	return t.GetMode() != genwayv1.ThinkingConfig_MODE_UNSPECIFIED || t.GetEffort() != "" || t.GetBudgetTokens() != 0 ||
		t.GetIncludeThoughts() || t.GetSummary() != "", false
}

// reasoned reports whether a message has reasoning that an upstream of responses sealed.
func reasoned(m *genwayv1.Message) bool {
	return slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool {
		return p.GetThinking().GetEncryptedContent().GetProtocol() == genwayv1.Protocol_PROTOCOL_RESPONSES
	})
}

// included are the fields with sealed reasoning among what is to be included.
func included(fields []*genwayv1.NativeField) []*genwayv1.NativeField {
	const protocol = genwayv1.Protocol_PROTOCOL_RESPONSES
	if member.Native(protocol, fields, includeName) != nil {
		return fields // a direct caller says it itself
	}
	field := &genwayv1.NativeField{Protocol: protocol, Name: includeName, Json: []byte("[" + includeReasoning + "]")}
	return append(slices.Clip(fields), field)
}
