package route

import (
	"context"
	"slices"

	"github.com/genway/genway/core/call"
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

// session returns what the requests of one conversation have in common: the key that the caller
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

// StreamGenerateText asks the targets in turn until an answer has begun.
func (r *Router) StreamGenerateText(ctx context.Context, req *deferred.Request, send upstream.Send) error {
	look := func(ev *genwayv1.StreamGenerateTextResponse) step {
		s := step{ping: ev.GetPing() != nil}
		if started := ev.GetStarted(); started != nil {
			s.losses = &started.Losses
		} else if completed := ev.GetCompleted(); completed != nil {
			s.completed, s.losses = true, &completed.Losses
		}
		return s
	}
	return streamed(ctx, r, text(req.Head(), true), look, send, func(ctx context.Context, a attempt, pass sender[genwayv1.StreamGenerateTextResponse]) error {
		asked, losses, err := a.text(ctx, req)
		if err != nil {
			return err
		}
		a.capture(ctx, asked.Head())
		return a.Upstream.StreamGenerateText(ctx, asked, pass(losses))
	})
}

// StreamGenerateImage does so for images.
func (r *Router) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	look := func(ev *genwayv1.StreamGenerateImageResponse) step {
		s := step{ping: ev.GetPing() != nil}
		if started := ev.GetStarted(); started != nil {
			s.losses = &started.Losses
		} else if completed := ev.GetCompleted(); completed != nil {
			s.completed, s.losses = true, &completed.Losses
		}
		return s
	}
	return streamed(ctx, r, image(req, true), look, send, func(ctx context.Context, a attempt, pass sender[genwayv1.StreamGenerateImageResponse]) error {
		asked, losses, err := a.image(ctx, req)
		if err != nil {
			return err
		}
		a.capture(ctx, asked)
		return a.Upstream.StreamGenerateImage(ctx, asked, pass(losses))
	})
}

// step is what an event of a stream means to a route. Losses are those that the event names
// which opens or completes the stream; nil for any other event.
type step struct {
	losses          *[]*genwayv1.Loss
	ping, completed bool
}

// sender returns the function that an attempt sends its events by. The losses are those of
// the route itself. The event that opens the stream names them first; where the upstream's
// own frames pass through, there is none, and the event that completes it does.
type sender[E any] func(losses []*genwayv1.Loss) func(*E) error

// streamed runs the attempts of a streamed request; look says what an event means.
func streamed[E any](ctx context.Context, r *Router, q request, look func(*E) step, send func(*E) error, ask func(context.Context, attempt, sender[E]) error) error {
	return r.attempts(ctx, q, func(ctx context.Context, a attempt) error {
		record := call.Of(ctx)
		return ask(ctx, a, func(losses []*genwayv1.Loss) func(*E) error {
			named := false
			return func(ev *E) error {
				s := look(ev)
				if s.losses != nil && !named {
					*s.losses, named = slices.Concat(losses, *s.losses), true
				}
				if s.losses != nil && !record.AnswerBegun() {
					if err := upstream.Lossless(ctx, *s.losses); err != nil {
						return err
					}
				}
				if !record.AnswerBegun() {
					// A heartbeat is nothing of the answer: another target may still give
					// one. The headers go out with it, and name the one asked by then.
					// The upstream's own may be written at this very moment.
					var answered map[string]string
					if !s.ping {
						record.AnswerBegins()
						answered = record.Headers
					}
					a.sendHeaders(ctx, answered)
				}
				if !s.ping {
					record.Chunk()
				}
				return a.drain.sent(send(ev), s.completed)
			}
		})
	})
}
