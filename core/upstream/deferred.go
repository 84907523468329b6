package upstream

import (
	"context"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// Deferring is an Upstream that takes requests whose conversation is not decoded, since it may
// pass the caller's raw body on. All other upstreams receive whole messages.
type Deferring interface {
	Upstream
	// GenerateDeferred is GenerateText for such a request.
	GenerateDeferred(ctx context.Context, req *deferred.Request) (*genwayv1.GenerateTextResponse, error)
	// StreamDeferred is StreamGenerateText for such a request.
	StreamDeferred(ctx context.Context, req *deferred.Request, send Send) error
}

// GenerateText asks an upstream for one answer. The request is decoded for an upstream that is
// not Deferring; a request that cannot be decoded fails with the error of its codec.
func GenerateText(ctx context.Context, u Upstream, req *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	if d, ok := u.(Deferring); ok {
		return d.GenerateDeferred(ctx, req)
	}
	whole, err := req.Whole()
	if err != nil {
		return nil, err
	}
	return u.GenerateText(ctx, whole)
}

// StreamGenerateText asks an upstream for the same answer as events.
func StreamGenerateText(ctx context.Context, u Upstream, req *deferred.Request, send Send) error {
	if d, ok := u.(Deferring); ok {
		return d.StreamDeferred(ctx, req, send)
	}
	whole, err := req.Whole()
	if err != nil {
		return err
	}
	return u.StreamGenerateText(ctx, whole, send)
}
