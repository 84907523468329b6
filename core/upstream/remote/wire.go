package remote

import (
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
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
	cannotBe := u.protocol.Upstream.Foreign
	return !slices.ContainsFunc(messages, func(m *genwayv1.Message) bool {
		return slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool {
			t := p.GetThinking()
			return u.foreign(p.GetThoughtSignature()) || u.foreign(t.GetSignature()) || u.foreign(t.GetEncryptedContent()) ||
				cannotBe != nil && cannotBe(p)
		})
	})
}

// passes is ownBody for a deferred request. It reports false for a body that may hold something
// of another upstream; such a body is decoded.
func (u *Upstream) passes(req *deferred.Request) bool {
	return req.Deferred() && u.speaks(req.Head().GetWire()) && !req.Statistics().GetForeign()
}

func (u *Upstream) foreign(s *genwayv1.Seal) bool {
	return s != nil && s.GetOrigin() != u.config.Protocol
}
