package core

import (
	"context"
	"time"

	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// TryText sends a request to one upstream, for whoever makes the call of ctx: it is admitted, metered and
// in the ledger as a direct caller's. The record says what came of it; it is not Admitted where the
// request was refused ahead of the upstream.
func (s *Service) TryText(ctx context.Context, upstream string, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, *call.Record, error) {
	ctx, record := s.pinned(ctx, upstream)
	resp, err := s.GenerateText(ctx, req)
	return resp, record, err
}

// TryImage is TryText for images.
func (s *Service) TryImage(ctx context.Context, upstream string, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, *call.Record, error) {
	ctx, record := s.pinned(ctx, upstream)
	resp, err := s.GenerateImage(ctx, req)
	return resp, record, err
}

// pinned begins the record of a request to one upstream, beside that of the administrator's call.
func (s *Service) pinned(ctx context.Context, upstream string) (context.Context, *call.Record) {
	by := call.Of(ctx)
	record := &call.Record{ID: s.config.NewID("req_"), Start: time.Now(), Span: by.Span, Tracer: by.Tracer, Metrics: by.Metrics, Pinned: upstream}
	record.Caller = call.Caller{Principal: by.Caller.Principal}
	return call.With(ctx, record), record
}
