package core

import (
	"context"

	"github.com/genway/genway/core/capture"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// GenerateImage returns images of a prompt.
func (s *Service) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (resp *genwayv1.GenerateImageResponse, err error) {
	ctx, record := begin(ctx, "GenerateImage", req.GetModel())
	req.Wire = trusted(record.Caller, req.GetWire())
	if err := checkImage(req); err != nil {
		return nil, err
	}
	err = s.account(ctx, record, req, func(ctx context.Context, held *admission) error {
		resp, err = s.generateImage(ctx, held, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (s *Service) generateImage(ctx context.Context, held *admission, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	resp, err := s.config.Upstream.GenerateImage(ctx, req)
	if err != nil {
		return nil, err
	}
	if resp.CreateTime == nil {
		resp.CreateTime = timestamppb.New(s.config.Clock())
	}
	answered(held.record, req.GetModel(), resp.GetUsage())
	held.drawn = drawnBy(req, resp)
	held.complete = true
	lost(held.record, resp.GetLosses())
	if resp.GetWire() == nil && !plausible(resp.GetUsage()) {
		resp.Usage, resp.Losses = nil, append(resp.GetLosses(), implausible())
	}
	if c := held.record.Capture; c != nil && resp.GetWire() == nil {
		c.Message(capture.ContractAnswer, "", resp)
	}
	return resp, nil
}
