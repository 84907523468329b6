package core

import (
	"context"
	"slices"

	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// Callers of the responses protocol may refer to items of earlier answers in place of
// sending them (item_reference). Upstreams of that protocol resolve references to their own
// items; the items of all other upstreams are named by Genway, which keeps them. The
// protocol is named here since references and items are read by its own codec.

// resolved returns the request with the items that it refers to, as far as they are kept.
func (s *Service) resolved(ctx context.Context, caller call.Caller, asked *deferred.Request) (*deferred.Request, error) {
	if s.config.Items == nil || !mayRefer(asked) {
		return asked, nil
	}
	req := asked.Head()
	ids := responses.References(req.GetWire().GetJson())
	if len(ids) == 0 {
		return asked, nil
	}
	known, err := s.config.Items.Find(ctx, caller.KeyID, ids)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	if len(known) == 0 {
		return asked, nil
	}
	body, err := responses.Resolve(req.GetWire().GetJson(), known)
	if err != nil {
		return nil, err
	}
	return rewritten(req, body)
}

// ReasonItemsUnavailable is the reason of a request whose references cannot be looked up.
const ReasonItemsUnavailable = "ITEMS_UNAVAILABLE"

// mayRefer reports whether a request may have references of ours.
func mayRefer(asked *deferred.Request) bool {
	req := asked.Head()
	switch wire := req.GetWire(); {
	case wire.GetProtocol() != genwayv1.Protocol_PROTOCOL_RESPONSES || len(wire.GetJson()) == 0:
		return false
	case asked.Deferred():
		return asked.Statistics().GetForeign()
	}
	return slices.ContainsFunc(req.GetMessages(), func(m *genwayv1.Message) bool {
		return slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool { return p.GetOpaque() != nil })
	})
}
