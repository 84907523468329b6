package core

import (
	"context"
	"time"

	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// TryText sends a request to one upstream on behalf of the caller of ctx. The request is admitted, metered and
// recorded in the ledger like that of a direct caller. The record describes the result. It is not Admitted if the
// request was refused before the upstream was called.
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
