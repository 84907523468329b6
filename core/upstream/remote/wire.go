package remote

import (
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// ownBody reports whether the caller's body can be sent to the upstream unchanged. It cannot if
// another upstream has taken part in the conversation: the body then has that upstream's signatures,
// in envelopes with our prefix, or identifiers that the gateway has made. Only the codecs can read
// those, and an upstream that verifies signatures or looks items up would refuse the whole request
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

// passes is ownBody for a deferred request. It reports false if the body may have signatures or
// identifiers of another upstream; such a body is decoded.
func (u *Upstream) passes(req *deferred.Request) bool {
	return req.Deferred() && u.speaks(req.Head().GetWire()) && !req.Statistics().GetForeign()
}

func (u *Upstream) foreign(s *genwayv1.Seal) bool {
	return s != nil && s.GetOrigin() != u.config.Protocol
}
