package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// page returns one page of models.
func (k *kit) page(ctx context.Context, size int32, token string) (*genwayv1.ListModelsResponse, error) {
	ctx, cancel := k.call(ctx)
	defer cancel()
	return k.client.ListModels(ctx, &genwayv1.ListModelsRequest{PageSize: size, PageToken: token})
}

// maxPages bounds a list whose pages do not end.
const maxPages = 1000

// models returns all models, by pages of a size. Each page is at most so large.
func (k *kit) models(ctx context.Context, size int32) ([]*genwayv1.Model, error) {
	var all []*genwayv1.Model
	token := ""
	for range maxPages {
		page, err := k.page(ctx, size, token)
		if err != nil {
			return nil, err
		}
		if size > 0 && len(page.GetModels()) > int(size) {
			return nil, fmt.Errorf("a page of at most %d has %d models", size, len(page.GetModels()))
		}
		all = append(all, page.GetModels()...)
		if token = page.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
	return nil, fmt.Errorf("the list does not end after %d pages", maxPages)
}

// listsModels also finds the models for the other checks.
func (k *kit) listsModels(ctx context.Context) error {
	all, err := k.models(ctx, 0)
	if err != nil {
		return err
	}
	for n, m := range all {
		if m.GetName() == "" {
			return fmt.Errorf("models[%d] has no name", n)
		}
		if n > 0 && m.GetName() <= all[n-1].GetName() {
			return fmt.Errorf("models are ordered by name, and %q follows %q", m.GetName(), all[n-1].GetName())
		}
		if err := saysWhatItTakes(m); err != nil {
			return fmt.Errorf("%s: %w", m.GetName(), err)
		}
		if k.textModel == "" && m.GetGeneratesText() {
			k.textModel = m.GetName()
		}
		if k.imageModel == "" && m.GetGeneratesImages() {
			k.imageModel = m.GetName()
		}
	}
	if len(all) == 0 {
		if k.textModel != "" {
			return skipError("the list is empty")
		}
		return errors.New("the list is empty")
	}
	return nil
}

// saysWhatItTakes checks what a model's description says of it: what is not known is absent, not 0.
func saysWhatItTakes(m *genwayv1.Model) error {
	for name, limit := range map[string]*int64{
		"input_token_limit": m.InputTokenLimit, "output_token_limit": m.OutputTokenLimit, "context_token_limit": m.ContextTokenLimit,
	} {
		if limit != nil && *limit < 1 {
			return fmt.Errorf("%s is %d; a limit that is not known is absent", name, *limit)
		}
	}
	if slices.Contains(slices.Concat(m.GetInputs(), m.GetOutputs()), genwayv1.Modality_MODALITY_UNSPECIFIED) {
		return errors.New("inputs and outputs have a MODALITY_UNSPECIFIED; what is not known is absent")
	}
	return nil
}

func (k *kit) pagesModels(ctx context.Context) error {
	whole, err := k.models(ctx, 0)
	if err != nil {
		return err
	}
	paged, err := k.models(ctx, 1)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(whole, paged, func(a, b *genwayv1.Model) bool { return a.GetName() == b.GetName() }) {
		return fmt.Errorf("pages of one model have %d models in all, the whole list has %d", len(paged), len(whole))
	}
	_, err = k.page(ctx, -1, "")
	return refused(err, codes.InvalidArgument, genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, "page_size")
}

func (k *kit) refusesForeignToken(ctx context.Context) error {
	_, err := k.page(ctx, 0, "\x01no token of yours")
	return refused(err, codes.InvalidArgument, genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, "page_token")
}

// getsModels compares the first models of the list with GetModel.
func (k *kit) getsModels(ctx context.Context) error {
	page, err := k.page(ctx, 3, "")
	if err != nil {
		return err
	}
	for _, listed := range page.GetModels() {
		got, err := k.get(ctx, listed.GetName())
		if err != nil {
			return err
		}
		if !proto.Equal(got.GetModel(), listed) {
			return fmt.Errorf("the list has {%s}, GetModel returns {%s}", listed, got.GetModel())
		}
	}
	_, err = k.get(ctx, noModel)
	return refused(err, codes.NotFound, genwayv1.ErrorKind_ERROR_KIND_NOT_FOUND, "")
}

func (k *kit) get(ctx context.Context, name string) (*genwayv1.GetModelResponse, error) {
	ctx, cancel := k.call(ctx)
	defer cancel()
	return k.client.GetModel(ctx, &genwayv1.GetModelRequest{Name: name})
}
