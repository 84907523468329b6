package route

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// GenerateText asks the targets of the model's route in turn.
func (r *Router) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (resp *genwayv1.GenerateTextResponse, err error) {
	err = r.attempts(ctx, text(req), never, func(a attempt) error {
		asked, losses := a.text(req)
		if resp, err = a.Upstream.GenerateText(ctx, asked); err != nil {
			return err
		}
		resp.Losses = slices.Concat(losses, resp.GetLosses())
		return a.lossless(resp.GetLosses())
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// StreamGenerateText does so until an answer has begun.
func (r *Router) StreamGenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest, send upstream.Send) error {
	begun := false
	return r.attempts(ctx, text(req), func() bool { return begun }, func(a attempt) error {
		asked, losses := a.text(req)
		return a.Upstream.StreamGenerateText(ctx, asked, func(ev *genwayv1.StreamGenerateTextResponse) error {
			if started := ev.GetStarted(); started != nil && !begun {
				started.Losses = slices.Concat(losses, started.GetLosses())
				if err := a.lossless(started.GetLosses()); err != nil {
					return err
				}
			}
			if !begun {
				// A heartbeat is nothing of the answer: another target may still give
				// one. The headers go out with it, and name the one asked by then.
				begun = ev.GetPing() == nil
				a.tell(ctx)
			}
			return send(ev)
		})
	})
}

// GenerateImage asks the targets in turn.
func (r *Router) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (resp *genwayv1.GenerateImageResponse, err error) {
	err = r.attempts(ctx, request{req.GetWire().GetProtocol(), req.GetModel(), true}, never, func(a attempt) error {
		if resp, err = a.Upstream.GenerateImage(ctx, imageFor(req, a.Target)); err != nil {
			return err
		}
		return a.lossless(resp.GetLosses())
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// CountTokens asks the targets in turn.
func (r *Router) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (resp *genwayv1.CountTokensResponse, err error) {
	err = r.attempts(ctx, request{req.GetWire().GetProtocol(), req.GetRequest().GetModel(), false}, never, func(a attempt) error {
		asked, losses := a.text(req.GetRequest())
		if resp, err = a.Upstream.CountTokens(ctx, &genwayv1.CountTokensRequest{Request: asked, Wire: wireFor(req.GetWire(), a.Target)}); err != nil {
			return err
		}
		resp.Losses = slices.Concat(losses, resp.GetLosses())
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func text(req *genwayv1.GenerateTextRequest) request {
	return request{req.GetWire().GetProtocol(), req.GetModel(), false}
}

func never() bool { return false }

// text gives the request as the target gets it: under its own name for the model,
// with the caller's own body only if it speaks the caller's protocol, and without
// what the route leaves out. All else is shared, since upstreams do not change
// requests.
func (a attempt) text(req *genwayv1.GenerateTextRequest) (asked *genwayv1.GenerateTextRequest, losses []*genwayv1.Loss) {
	asked = &genwayv1.GenerateTextRequest{}
	codec.Share(asked, req)
	asked.Model = cmp.Or(a.Model, req.GetModel())
	asked.Wire = wireFor(req.GetWire(), a.Target)
	asked.Tools, losses = a.withoutTools(req.GetTools())
	return asked, losses
}

func imageFor(req *genwayv1.GenerateImageRequest, t Target) *genwayv1.GenerateImageRequest {
	asked := &genwayv1.GenerateImageRequest{}
	codec.Share(asked, req)
	asked.Model = cmp.Or(t.Model, req.GetModel())
	asked.Wire = wireFor(req.GetWire(), t)
	return asked
}

// wireFor keeps the caller's body for an upstream of its protocol, and for the
// sandbox, which looks at the protocol alone.
func wireFor(wire *genwayv1.WireMessage, t Target) *genwayv1.WireMessage {
	if t.Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED || t.Protocol == wire.GetProtocol() {
		return wire
	}
	return nil
}

// lossless refuses an answer that lost something, if the route is strict.
func (a attempt) lossless(losses []*genwayv1.Loss) error {
	if len(losses) == 0 || !a.route.Strict {
		return nil
	}
	first := losses[0]
	return fault.Unsupported(first.GetMember(), "%s cannot be carried to the upstream of this model: %s", first.GetMember(), first.GetReason())
}

// tell names the upstream that serves the caller, and how many were tried, in the
// answer's headers.
func (a attempt) tell(ctx context.Context) {
	// It fails where the headers have been sent, and outside of a server: nobody is
	// left to be told.
	_ = grpc.SetHeader(ctx, metadata.Pairs("x-genway-upstream", a.Name, "x-genway-attempts", strconv.Itoa(a.number)))
}

// String spells a target for people.
func (t Target) String() string {
	kind := "canonical"
	if t.Protocol != genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		kind = t.Protocol.String()
	}
	return fmt.Sprintf("%s (%s, model %s, weight %d)", t.Name, kind, cmp.Or(t.Model, "as asked"), cmp.Or(t.Weight, 1))
}
