package core

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/ledger"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// imageRequest is a request for images.
type imageRequest struct{ *genwayv1.GenerateImageRequest }

func (r imageRequest) message() message { return r.GenerateImageRequest }

func (r imageRequest) estimate(int64) estimate {
	n := max(int64(r.GetCount()), 1)
	return estimate{output: amount.Times(n, drawnTokens), images: n, weighs: true, by: "count"}
}

func (r imageRequest) input() int64 {
	return int64(len(r.GetPrompt()))/bytesPerToken + 1 + givenTokens(r.GenerateImageRequest)
}

// usage counts the request and its images. Images that have a price are counted: the upstream need not say more.
func (r imageRequest) usage(a *admission, result ledger.Result) (ledger.Usage, bool) {
	p, priced := a.service.price(a, result.Model)
	unknown := result.Usage.Input == 0 && (a.complete || a.record.Usage == nil) && (!priced || p.MaxImages(1) == 0)
	if result.UsageSource != ledger.Rejected && !unknown {
		return ledger.Usage{}, false
	}
	usage := drawingUsage(r.GenerateImageRequest, a.drawn)
	usage.Images = result.Usage.Images
	return usage, true
}

// GenerateImage returns images of a prompt.
func (s *Service) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	ctx, record := begin(ctx, "GenerateImage", req.GetModel())
	req.Wire = trusted(record.Caller, req.GetWire())
	if err := checkImage(req); err != nil {
		return nil, err
	}
	return answer(ctx, s, record, imageRequest{req}, func(ctx context.Context, held *admission) (*genwayv1.GenerateImageResponse, error) {
		resp, err := s.config.Upstream.GenerateImage(ctx, req)
		if err != nil {
			return nil, err
		}
		if resp.CreateTime == nil {
			resp.CreateTime = timestamppb.New(s.config.Clock())
		}
		answered(record, req.GetModel(), resp.GetUsage())
		held.drawn = drawnBy(req, resp)
		held.completed(resp, &resp.Usage, &resp.Losses)
		return resp, nil
	})
}

// TryImage is TryText for images.
func (s *Service) TryImage(ctx context.Context, upstream string, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, *call.Record, error) {
	ctx, record := s.pinned(ctx, upstream)
	resp, err := s.GenerateImage(ctx, req)
	return resp, record, err
}

// checkImage demands what every upstream needs of a request for images, and of a direct caller what checkDirect does. It
// completes an edit with what is in its body.
func checkImage(req *genwayv1.GenerateImageRequest) error {
	switch {
	case req.GetModel() == "":
		return fault.Missing("model")
	case req.GetPrompt() == "":
		return fault.Missing("prompt")
	}
	if err := images.Complete(req); err != nil || req.GetWire() != nil {
		return err
	}
	for _, c := range []struct {
		name  string
		value *int32
		least int32
		most  int32
	}{
		{"count", req.Count, 1, 0},
		{"output_compression", req.OutputCompression, 0, 100},
		{"partial_images", req.PartialImages, 0, 3},
	} {
		switch {
		case c.value == nil:
		case c.most > 0 && (*c.value < c.least || *c.value > c.most):
			return fault.Invalid(c.name, "%s: expected a number from %d to %d, got %d", c.name, c.least, c.most, *c.value)
		case *c.value < c.least:
			return fault.Invalid(c.name, "%s: expected a number of at least %d, got %d", c.name, c.least, *c.value)
		}
	}
	if err := checkNatives("", req.GetNativeFields()); err != nil {
		return err
	}
	return checkExtra(req, req.GetExtraJson())
}

// drawn is what an image request gave, and what its images cost by.
type drawn struct {
	images        int
	size, quality string
}

// drawnBy returns the figures of an answer; what it does not say is as it was asked for.
func drawnBy(req *genwayv1.GenerateImageRequest, resp *genwayv1.GenerateImageResponse) drawn {
	size := resp.GetSize()
	if size == "" && len(resp.GetImages()) > 0 {
		size = resp.GetImages()[0].GetSize()
	}
	return drawnOf(req, len(resp.GetImages()), size, resp.GetQuality())
}

// drawnOf returns the figures of images of that size and quality, which may be empty.
func drawnOf(req *genwayv1.GenerateImageRequest, images int, size, quality string) drawn {
	return drawn{images: images, size: cmp.Or(size, req.GetSize()), quality: cmp.Or(quality, req.GetQuality())}
}

// givenTokens counts the images that a request begins with.
func givenTokens(req *genwayv1.GenerateImageRequest) int64 {
	given := int64(len(req.GetImages()))
	if req.GetMask() != nil {
		given++
	}
	return given * mediaTokens
}

// drawingUsage counts a request for images, and those that were made.
func drawingUsage(req *genwayv1.GenerateImageRequest, made drawn) ledger.Usage {
	given := givenTokens(req)
	width, height, _ := strings.Cut(made.size, "x")
	w, errW := strconv.Atoi(width)
	h, errH := strconv.Atoi(height)
	if errW != nil || errH != nil {
		w, h = 1024, 1024 // what vendors draw unless asked otherwise
	}
	out := amount.Times(int64(made.images), int64(tokens.Drawing(w, h, made.quality)))
	return ledger.Usage{Input: amount.Sum(int64(tokens.Count(req.GetPrompt())), given), InputImage: given, Output: out, OutputImage: out}
}
