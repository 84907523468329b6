package faults_test

import (
	"context"
	"sync"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// routes has a router for each model, so that thousands of routes that come and go
// need no search.
type routes struct{ table sync.Map }

var _ upstream.Upstream = (*routes)(nil)

// add makes a route of a model: one target, and the fallback if any.
func (r *routes) add(model string, target route.Target, fallback ...route.Target) {
	r.table.Store(model, route.New([]route.Route{{Model: model, Targets: []route.Target{target}, Fallback: fallback}}))
}

func (r *routes) of(model string) *route.Router {
	found, _ := r.table.Load(model)
	router, ok := found.(*route.Router)
	if !ok {
		return route.New(nil)
	}
	return router
}

func (r *routes) GenerateText(ctx context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	return r.of(req.GetModel()).GenerateText(ctx, deferred.New(req))
}

func (r *routes) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	return r.of(req.GetModel()).StreamGenerateText(ctx, deferred.New(req), send)
}

func (r *routes) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	return r.of(req.GetModel()).GenerateImage(ctx, req)
}

func (r *routes) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	return r.of(req.GetModel()).StreamGenerateImage(ctx, req, send)
}

func (r *routes) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	return r.of(req.GetRequest().GetModel()).CountTokens(ctx, req)
}

func (r *routes) Models() []*genwayv1.Model { return nil }
