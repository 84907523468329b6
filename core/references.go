package core

import (
	"context"
	"slices"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	transportv1 "github.com/genway/genway/gen/genway/transport/v1"
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
	if ctx.Err() != nil {
		return nil, upstream.Interrupted(ctx)
	}
	if err != nil {
		f := fault.Wrap(err, fault.Unavailable, ReasonItemsUnavailable, "the items that the request refers to cannot be looked up at the moment; try again")
		f.RetryAfter = time.Second
		return nil, f
	}
	if len(known) == 0 {
		return asked, nil
	}
	body, err := responses.Resolve(req.GetWire().GetJson(), known)
	if err != nil {
		return nil, err
	}
	decode := responses.Codec{}.DecodeRequest
	if req.GetCompact() {
		decode = responses.Codec{}.DecodeCompactRequest
	}
	whole, err := decode(body)
	if err != nil {
		return nil, err
	}
	wire := codec.Shared(req.GetWire())
	wire.Json, wire.Extension = body, &transportv1.RequestExtension{AcceptsBatches: wire.GetExtension().GetAcceptsBatches()}
	whole.Model, whole.Wire = req.GetModel(), wire
	return deferred.New(whole.GenerateTextRequest), nil
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

// keeps reports whether the items of the answer to a request are to be kept: the caller
// speaks the responses protocol through an edge, and has not asked that nothing be stored.
func (s *Service) keeps(caller call.Caller, req *genwayv1.GenerateTextRequest) bool {
	return s.config.Items != nil && caller.Edge && req.GetWire().GetProtocol() == genwayv1.Protocol_PROTOCOL_RESPONSES &&
		(req.Store == nil || req.GetStore())
}

// keep keeps the items of a unary answer, unless it is the upstream's own body.
func (s *Service) keep(held *admission, req *deferred.Request, resp *genwayv1.GenerateTextResponse) {
	caller := held.record.Caller
	if resp.GetWire() != nil || !s.keeps(caller, req.Head()) {
		return
	}
	// An answer that cannot be encoded here cannot be encoded at the edge, which reports it.
	if items, err := responses.Items(resp, answerTo(req)); err == nil {
		s.config.Items.Keep(held.entry, caller.KeyID, items)
	}
}

// answerTo is what an edge encodes an answer by. Names of tools depend on the tools, which
// a deferred request has in its body.
func answerTo(req *deferred.Request) codec.Answer {
	message, err := req.Whole()
	if err != nil {
		message = req.Head()
	}
	return codec.Answer{Request: &codec.Request{GenerateTextRequest: message}}
}

// recorder records the items of a streamed answer; nil records nothing.
type recorder struct {
	*responses.ItemRecorder

	held *admission
}

func (s *Service) recorder(held *admission, req *deferred.Request) *recorder {
	if !s.keeps(held.record.Caller, req.Head()) {
		return nil
	}
	return &recorder{held: held}
}

// add adds an event on its way to the caller, and keeps the items at the last. It returns nil once there is
// nothing to keep.
func (r *recorder) add(s *Service, req *deferred.Request, ev *genwayv1.StreamGenerateTextResponse, last bool) *recorder {
	if r.ItemRecorder == nil {
		r.ItemRecorder = responses.NewItemRecorder(answerTo(req))
	}
	if r.Add(ev) != nil {
		return nil
	}
	if last {
		s.config.Items.Keep(r.held.entry, r.held.record.Caller.KeyID, r.Items())
		return nil
	}
	return r
}
