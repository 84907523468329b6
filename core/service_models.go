package core

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/keys"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// defaultPage is how many models a page has unless asked otherwise.
const defaultPage = 1000

// ListModels lists the models that the caller's key may use by name, a page at a time.
func (s *Service) ListModels(ctx context.Context, req *genwayv1.ListModelsRequest) (resp *genwayv1.ListModelsResponse, err error) {
	if req.GetPageSize() < 0 {
		return nil, fault.Invalid("page_size", "page_size: expected at least 0, got %d", req.GetPageSize())
	}
	err = s.visit(ctx, "ListModels", func(policy *keys.Policy) error {
		resp, err = page(s.models(policy), req)
		return err
	})
	return resp, err
}

// page returns the models after the one that the token names. A token that names none is refused: it comes from
// no earlier page, or from a list that has changed since.
func page(models []*genwayv1.Model, req *genwayv1.ListModelsRequest) (*genwayv1.ListModelsResponse, error) {
	if token := req.GetPageToken(); token != "" {
		last, found := slices.BinarySearchFunc(models, token, func(m *genwayv1.Model, name string) int { return cmp.Compare(m.GetName(), name) })
		if !found {
			return nil, fault.Invalid("page_token", "page_token: expected the next_page_token of an earlier page; list again from the beginning")
		}
		models = models[last+1:]
	}
	resp := &genwayv1.ListModelsResponse{}
	if size := int(cmp.Or(req.GetPageSize(), defaultPage)); len(models) > size {
		models = models[:size]
		resp.NextPageToken = models[size-1].GetName()
	}
	for _, m := range models {
		resp.Models = append(resp.Models, proto.CloneOf(m))
	}
	return resp, nil
}

// GetModel describes one model.
func (s *Service) GetModel(ctx context.Context, req *genwayv1.GetModelRequest) (resp *genwayv1.GetModelResponse, err error) {
	if req.GetName() == "" {
		return nil, fault.Missing("name")
	}
	err = s.visit(ctx, "GetModel", func(policy *keys.Policy) error {
		for _, m := range s.models(policy) {
			if m.GetName() == req.GetName() {
				resp = &genwayv1.GetModelResponse{Model: proto.CloneOf(m)}
				return nil
			}
		}
		return fault.ModelNotFound(keys.RedactIn(req.GetName()))
	})
	return resp, err
}

// models are those a key may use, by name. They are shared with other calls: clone one
// before it leaves the service.
func (s *Service) models(policy *keys.Policy) []*genwayv1.Model {
	var models []*genwayv1.Model
	for _, m := range s.config.Upstream.Models() {
		if !policy.AllowsModel(m.GetName()) {
			continue
		}
		if m.GetCreateTime() == nil { // protocols demand one
			m = proto.CloneOf(m)
			m.CreateTime = timestamppb.New(s.started)
		}
		models = append(models, m)
	}
	slices.SortFunc(models, func(a, b *genwayv1.Model) int { return strings.Compare(a.GetName(), b.GetName()) })
	return models
}
