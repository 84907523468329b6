package fit

import (
	"regexp"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// SignatureRule is what a vendor demands of the calls in a conversation. The zero rule demands nothing.
type SignatureRule struct {
	// Of is the protocol whose vendor makes the signatures.
	Of genwayv1.Protocol
	// Absent is the value that the vendor documents for a call without a signature.
	Absent string
	// Models are the models that refuse a call without one.
	Models *regexp.Regexp
}

// seal returns the value for a call without a signature.
func (r SignatureRule) seal() *genwayv1.Seal {
	return &genwayv1.Seal{Protocol: r.Of, Value: []byte(r.Absent)}
}

// Unsigned returns the seal for a call whose own signature was left out; nil where the vendor demands none.
func (r SignatureRule) Unsigned() *genwayv1.Seal {
	if r.Absent == "" {
		return nil
	}
	return r.seal()
}

// Signed returns the request with a signature of the vendor's at the first call of each step of the conversation,
// for a model that demands one: histories of other models have no signatures, and some clients keep identifiers
// alone. A call without one gets the value that the vendor documents (case R4). The vendor checks the current turn
// only. Earlier turns get the value as well, so that a prompt begins as the one of the turn before it did, which
// caches need. A signature of another vendor is named in losses.
func Signed(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	rule := rules.Signatures
	if rule.Models == nil || !rule.Models.MatchString(req.GetModel()) {
		return req
	}
	next, called := 0, false // the first message that was not looked at; the step has a call
	messages, changed := codec.RewrittenParts(req.GetMessages(), func(i, j int, p *genwayv1.Part) *genwayv1.Part {
		for ; next <= i; next++ {
			if r := req.GetMessages()[next].GetRole(); r == genwayv1.Role_ROLE_USER || r == genwayv1.Role_ROLE_TOOL {
				called = false
			}
		}
		if called || p.GetToolCall() == nil {
			return nil
		}
		called = true
		signature := p.GetThoughtSignature()
		if signature.GetProtocol() == rule.Of {
			return nil
		}
		if signature != nil {
			losses.Add(member.Within(member.Index("messages", i), ".parts", j)+".thought_signature", "only the upstream that made it can read it")
		}
		out := codec.Shared(p)
		out.ThoughtSignature = rule.seal()
		return out
	})
	if !changed {
		return req
	}
	out := codec.Shared(req)
	out.Messages = messages
	return out
}
