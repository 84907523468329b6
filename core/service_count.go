package core

import (
	"context"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// CountTokens says what a request would put in.
func (s *Service) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (resp *genwayv1.CountTokensResponse, err error) {
	ctx, record := begin(ctx, "CountTokens", req.GetRequest().GetModel())
	req.Wire = trusted(record.Caller, req.GetWire())
	// A direct caller's members are inside of the member request; those of a JSON caller
	// are not.
	inside := record.Caller.Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED
	defer func() {
		if inside {
			err = insideOf("request", err)
		}
	}()
	if req.GetRequest().GetModel() == "" {
		return nil, fault.Missing("model")
	}
	if err := checkMessages(req.GetRequest().GetMessages()); err != nil {
		return nil, err
	}
	if req.GetWire() == nil {
		if err := checkDirect(req.GetRequest()); err != nil {
			return nil, err
		}
	}
	// The wire message of a count is its own, never one of the request inside.
	req.Request.Wire = nil
	err = s.account(ctx, record, req, func(ctx context.Context, _ *admission) error {
		resp, err = s.config.Upstream.CountTokens(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}
