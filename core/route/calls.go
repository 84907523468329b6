package route

import (
	"context"
	"slices"

	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
)

// GenerateText asks the targets of the model's route in turn. The body of a deferred request is decoded at most once,
// by the first target that needs the conversation.
func (r *Router) GenerateText(ctx context.Context, req *deferred.Request) (resp *genwayv1.GenerateTextResponse, err error) {
	err = r.attempts(ctx, text(req.Head(), false), func(ctx context.Context, a attempt) error {
		asked, losses, err := a.text(ctx, req)
		if err != nil {
			return err
		}
		a.capture(ctx, asked.Head())
		if resp, err = a.Upstream.GenerateText(ctx, asked); err != nil {
			return err
		}
		resp.Losses = slices.Concat(losses, resp.GetLosses())
		return upstream.Lossless(ctx, resp.GetLosses())
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// GenerateImage asks the targets in turn.
func (r *Router) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (resp *genwayv1.GenerateImageResponse, err error) {
	err = r.attempts(ctx, image(req, false), func(ctx context.Context, a attempt) error {
		asked, losses, err := a.image(ctx, req)
		if err != nil {
			return err
		}
		a.capture(ctx, asked)
		if resp, err = a.Upstream.GenerateImage(ctx, asked); err != nil {
			return err
		}
		resp.Losses = slices.Concat(losses, resp.GetLosses())
		return upstream.Lossless(ctx, resp.GetLosses())
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// CountTokens asks the targets in turn.
func (r *Router) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (resp *genwayv1.CountTokensResponse, err error) {
	err = r.attempts(ctx, request{protocol: req.GetWire().GetProtocol(), model: req.GetRequest().GetModel(), counted: true}, func(ctx context.Context, a attempt) error {
		whole, unknown, err := a.withoutReferences(req.GetRequest())
		if err != nil {
			return err
		}
		asked := a.targeted(whole)
		asked.Wire = wireFor(req.GetWire(), a.Target)
		asked, lost, err := a.ofVersion(asked)
		if err != nil {
			return err
		}
		wire := asked.GetWire()
		asked.Wire = nil
		if resp, err = a.Upstream.CountTokens(ctx, &genwayv1.CountTokensRequest{Request: asked, Wire: wire}); err != nil {
			return err
		}
		resp.Losses = slices.Concat(unknown, lost, resp.GetLosses())
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func text(req *genwayv1.GenerateTextRequest, streamed bool) request {
	return request{protocol: req.GetWire().GetProtocol(), model: req.GetModel(), streamed: streamed, head: req}
}

// session gives what the requests of one conversation have in common: the key that the caller
// has for the vendor's prompt cache, or a header by which its client names the session.
func session(req *genwayv1.GenerateTextRequest) string {
	if key := req.GetPromptCacheKey(); key != "" {
		return key
	}
	headers := req.GetWire().GetHeaders()
	if len(headers) == 0 {
		return ""
	}
	for _, name := range protocol.SessionHeaders {
		if value := headers[name]; value != "" {
			return value
		}
	}
	return ""
}

func image(req *genwayv1.GenerateImageRequest, streamed bool) request {
	return request{protocol: req.GetWire().GetProtocol(), model: req.GetModel(), images: true, streamed: streamed}
}
