package remote

import (
	"slices"

	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/core/unread"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// ownBody reports whether the caller's body can go to the upstream as it is. It
// cannot when the conversation has seen another upstream before: what that one has
// sealed travels in this protocol's members under our prefix, and what it left
// without a name has one of ours; only the codecs understand that, and an upstream
// that verifies signatures or looks items up refuses the whole request for it
// (case R7).
func (u *Upstream) ownBody(wire *genwayv1.WireMessage, messages []*genwayv1.Message) bool {
	if !u.speaks(wire) {
		return false
	}
	verifies := u.config.Protocol == genwayv1.Protocol_PROTOCOL_MESSAGES
	looksUp := u.config.Protocol == genwayv1.Protocol_PROTOCOL_RESPONSES
	return !slices.ContainsFunc(messages, func(m *genwayv1.Message) bool {
		return slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool {
			t := p.GetThinking()
			return u.foreign(p.GetThoughtSignature()) || u.foreign(t.GetSignature()) || u.foreign(t.GetEncryptedContent()) ||
				verifies && t != nil && t.GetSignature() == nil && t.GetEncryptedContent() == nil ||
				looksUp && responses.IsSyntheticID(p.GetId())
		})
	})
}

// passes is ownBody for a body that nobody has read: one in which nothing of another
// upstream's can be. What looks as if it could is read.
func (u *Upstream) passes(req *genwayv1.GenerateTextRequest) bool {
	return unread.Is(req) && u.speaks(req.GetWire()) && !unread.Survey(req.GetWire()).GetForeign()
}

func (u *Upstream) foreign(s *genwayv1.Seal) bool {
	return s != nil && s.GetOrigin() != u.config.Protocol
}
