package route

import (
	"context"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
)

// operation is what a router does for one operation of the contract. Q is what it asks an upstream, and A the answer.
type operation[Q, A any] struct {
	// chosen returns what the route of a request is chosen by.
	chosen func(req Q, streamed bool) request
	// target returns the request as a target gets it, and what it loses by that.
	target func(attempt, context.Context, Q) (Q, []*genwayv1.Loss, error)
	ask    func(upstream.Upstream, context.Context, Q) (A, error)
	losses func(A) *[]*genwayv1.Loss
	// withheld returns the fault of an answer that a vendor's policy ended before it had content; nil never looks.
	withheld func(A) error
}

var (
	generateText = operation[*deferred.Request, *genwayv1.GenerateTextResponse]{
		chosen: func(asked *deferred.Request, streamed bool) request {
			req := asked.Head()
			return request{protocol: req.GetWire().GetProtocol(), model: req.GetModel(), streamed: streamed, head: req}
		},
		target: attempt.text,
		ask:    upstream.Upstream.GenerateText,
		losses: func(resp *genwayv1.GenerateTextResponse) *[]*genwayv1.Loss { return &resp.Losses },
		withheld: func(resp *genwayv1.GenerateTextResponse) error {
			for _, c := range resp.GetCandidates() {
				if slices.ContainsFunc(c.GetParts(), func(p *genwayv1.Part) bool { return !codec.IsEmptyPart(p) }) {
					return nil
				}
			}
			return upstream.Withheld(resp.GetPromptFeedback(), resp.GetCandidates(), resp.GetUsage())
		},
	}
	generateImage = operation[*genwayv1.GenerateImageRequest, *genwayv1.GenerateImageResponse]{
		chosen: func(req *genwayv1.GenerateImageRequest, streamed bool) request {
			return request{protocol: req.GetWire().GetProtocol(), model: req.GetModel(), images: true, streamed: streamed}
		},
		target: attempt.image,
		ask:    upstream.Upstream.GenerateImage,
		losses: func(resp *genwayv1.GenerateImageResponse) *[]*genwayv1.Loss { return &resp.Losses },
	}
	countTokens = operation[*genwayv1.CountTokensRequest, *genwayv1.CountTokensResponse]{
		chosen: func(req *genwayv1.CountTokensRequest, _ bool) request {
			return request{protocol: req.GetWire().GetProtocol(), model: req.GetRequest().GetModel(), counted: true}
		},
		target: attempt.count,
		ask:    upstream.Upstream.CountTokens,
		losses: func(resp *genwayv1.CountTokensResponse) *[]*genwayv1.Loss { return &resp.Losses },
	}
)

// GenerateText asks the targets of the model's route in turn. The body of a deferred request is decoded at most once,
// by the first target that needs the conversation.
func (r *Router) GenerateText(ctx context.Context, req *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	return run(ctx, r, &generateText, req)
}

// StreamGenerateText asks the targets in turn until an answer has begun.
func (r *Router) StreamGenerateText(ctx context.Context, req *deferred.Request, send upstream.Send) error {
	return stream(ctx, r, &generateText, req, upstream.Upstream.StreamGenerateText, send, func(ev *genwayv1.StreamGenerateTextResponse) step {
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateTextResponse_Started:
			return step{losses: &p.Started.Losses}
		case *genwayv1.StreamGenerateTextResponse_Completed:
			return step{losses: &p.Completed.Losses, completed: true}
		case *genwayv1.StreamGenerateTextResponse_Ping:
			return step{ping: true}
		}
		return step{}
	})
}

// GenerateImage asks the targets in turn.
func (r *Router) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	return run(ctx, r, &generateImage, req)
}

// StreamGenerateImage asks the targets in turn until an answer has begun.
func (r *Router) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	return stream(ctx, r, &generateImage, req, upstream.Upstream.StreamGenerateImage, send, func(ev *genwayv1.StreamGenerateImageResponse) step {
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateImageResponse_Started:
			return step{losses: &p.Started.Losses}
		case *genwayv1.StreamGenerateImageResponse_Completed:
			return step{losses: &p.Completed.Losses, completed: true}
		case *genwayv1.StreamGenerateImageResponse_Ping:
			return step{ping: true}
		}
		return step{}
	})
}

// CountTokens asks the targets in turn.
func (r *Router) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	return run(ctx, r, &countTokens, req)
}

// run makes the attempts of a request that has one answer.
func run[Q, A any](ctx context.Context, r *Router, o *operation[Q, A], req Q) (A, error) {
	var answer, none A
	q := o.chosen(req, false)
	counted := q.counted // q would be on the heap
	err := r.attempts(ctx, q, func(ctx context.Context, a attempt) error {
		asked, losses, err := o.target(a, ctx, req)
		if err != nil {
			return err
		}
		if answer, err = o.ask(a.Upstream, ctx, asked); err != nil {
			return err
		}
		if o.withheld != nil && call.Of(ctx).PolicyFallback {
			if err := o.withheld(answer); err != nil {
				return err
			}
		}
		all := o.losses(answer)
		if *all = slices.Concat(losses, *all); counted {
			return nil
		}
		return upstream.Lossless(ctx, *all)
	})
	if err != nil {
		return none, err
	}
	return answer, nil
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

// step is what an event of a stream means to a route. Losses are those that the event names
// which opens or completes the stream; nil for any other event.
type step struct {
	losses          *[]*genwayv1.Loss
	ping, completed bool
}

// stream makes the attempts of a request whose answer is events; look says what an event means. The losses of the route
// itself are named first by the event that opens the stream. Where the upstream's own frames pass through, there is none,
// and the event that completes it names them.
func stream[Q, A, E any](ctx context.Context, r *Router, o *operation[Q, A], req Q,
	ask func(upstream.Upstream, context.Context, Q, func(*E) error) error, send func(*E) error, look func(*E) step,
) error {
	return r.attempts(ctx, o.chosen(req, true), func(ctx context.Context, a attempt) error {
		asked, losses, err := o.target(a, ctx, req)
		if err != nil {
			return err
		}
		record, named := call.Of(ctx), false
		return ask(a.Upstream, ctx, asked, func(ev *E) error {
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
			err := send(ev)
			if err == nil && !s.completed {
				return nil
			}
			return a.drain.sent(err, s.completed)
		})
	})
}
