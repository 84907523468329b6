package remote

import (
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// ownBody reports whether the caller's body can go to the upstream as it is. It
// cannot when the conversation has seen another upstream before: what that one has
// sealed travels in this protocol's members under our prefix, which only the
// codecs understand, and an upstream that verifies signatures refuses the whole
// request for it (case R7).
func (u *Upstream) ownBody(wire *genwayv1.WireMessage, messages []*genwayv1.Message) bool {
	if !u.speaks(wire) {
		return false
	}
	verifies := u.config.Protocol == genwayv1.Protocol_PROTOCOL_MESSAGES
	return !slices.ContainsFunc(messages, func(m *genwayv1.Message) bool {
		return slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool {
			t := p.GetThinking()
			return u.foreign(p.GetThoughtSignature()) || u.foreign(t.GetSignature()) || u.foreign(t.GetEncryptedContent()) ||
				verifies && t != nil && t.GetSignature() == nil && t.GetEncryptedContent() == nil
		})
	})
}

func (u *Upstream) foreign(s *genwayv1.Seal) bool {
	return s != nil && s.GetOrigin() != u.config.Protocol
}
