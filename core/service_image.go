package core

import (
	"cmp"
	"context"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/capture"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
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

// StreamGenerateImage returns the images as events, and an error when the upstream ends
// without the completed one.
func (s *Service) StreamGenerateImage(req *genwayv1.GenerateImageRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateImageResponse]) error {
	ctx := stream.Context()
	ctx, record := begin(ctx, "StreamGenerateImage", req.GetModel())
	req.Wire = trusted(record.Caller, req.GetWire())
	if err := checkImage(req); err != nil {
		return err
	}
	return s.account(ctx, record, req, func(ctx context.Context, held *admission) error {
		return s.streamImage(ctx, held, req, stream)
	})
}

func (s *Service) streamImage(ctx context.Context, held *admission, req *genwayv1.GenerateImageRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateImageResponse]) error {
	completed, passes := false, false // passes: the upstream's own frames pass through
	record := held.record
	answered(record, req.GetModel(), nil)
	answer := tail[genwayv1.StreamGenerateImageResponse]{admission: held, send: stream.Send}
	last := max(req.GetCount(), 1) - 1 // index of the last image
	err := s.config.Upstream.StreamGenerateImage(ctx, req, func(ev *genwayv1.StreamGenerateImageResponse) error {
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateImageResponse_Started:
			if p.Started.CreateTime == nil {
				p.Started.CreateTime = timestamppb.New(s.config.Clock())
			}
		case *genwayv1.StreamGenerateImageResponse_Wire:
			begun(record)
		case *genwayv1.StreamGenerateImageResponse_PartialImage:
			begun(record)
			p.PartialImage.CreateTime = cmp.Or(p.PartialImage.CreateTime, timestamppb.New(s.config.Clock()))
		case *genwayv1.StreamGenerateImageResponse_Image:
			begun(record)
			p.Image.CreateTime = cmp.Or(p.Image.CreateTime, timestamppb.New(s.config.Clock()))
			// A stream that is cut has given the images until then.
			held.drawn = drawnOf(req, int(p.Image.GetImageIndex())+1, p.Image.GetImage().GetSize(), p.Image.GetQuality())
		case *genwayv1.StreamGenerateImageResponse_Completed:
			if completed {
				return nil
			}
			completed, held.complete = true, true
			answered(record, "", p.Completed.GetUsage())
			if !plausible(p.Completed.GetUsage()) {
				p.Completed.Usage = nil
			}
			held.drawn = drawnOf(req, int(p.Completed.GetCount()), p.Completed.GetSize(), p.Completed.GetQuality())
		}
		passes = passes || ev.GetWire() != nil
		if c := record.Capture; c != nil && !passes && ev.GetPing() == nil {
			c.Message(capture.ContractAnswer, "", ev)
		}
		whole := ev.GetImage()
		return answer.add(ctx, ev, record.Ending || whole != nil && whole.GetImageIndex() >= last, ev.GetCompleted() != nil)
	})
	if err == nil && !completed {
		err = fault.StreamCut()
	}
	answer.end(ctx, err)
	return err
}
