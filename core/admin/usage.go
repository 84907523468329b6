package admin

import (
	"context"
	"fmt"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/ledger"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// dimensions are the contract's dimensions.
var dimensions = map[adminv1.Dimension]ledger.Dimension{
	adminv1.Dimension_DIMENSION_KEY:      ledger.ByKey,
	adminv1.Dimension_DIMENSION_MODEL:    ledger.ByModel,
	adminv1.Dimension_DIMENSION_DAY:      ledger.ByDay,
	adminv1.Dimension_DIMENSION_PROTOCOL: ledger.ByProtocol,
	adminv1.Dimension_DIMENSION_UPSTREAM: ledger.ByUpstream,
}

// GetUsage reports what requests used.
func (s *Service) GetUsage(ctx context.Context, req *adminv1.GetUsageRequest) (*adminv1.GetUsageResponse, error) {
	query := ledger.Query{By: ledger.ByDay}
	for i, d := range req.GetBy() {
		at := fmt.Sprintf("by[%d]", i)
		by, ok := dimensions[d]
		if !ok {
			return nil, invalid(fault.Invalid(at, "%s: unknown dimension %d", at, d))
		}
		if i > 0 {
			return nil, invalid(fault.Invalid(at, "%s: one dimension at a time", at))
		}
		query.By = by
	}
	if req.GetSince() != nil {
		if err := req.Since.CheckValid(); err != nil {
			return nil, invalid(fault.Invalid("since", "since: it is no time"))
		}
		query.Since = req.Since.AsTime()
	}
	rows, err := s.config.Usage.Report(ctx, query)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	resp := &adminv1.GetUsageResponse{}
	for _, r := range rows {
		resp.Rows = append(resp.Rows, &adminv1.UsageRow{
			Values: []string{r.Value}, Requests: r.Requests, Ok: r.OK, Failed: r.Failed, Cancelled: r.Cancelled,
			Interrupted: r.Interrupted, Open: r.Open,
			InputTokens: r.Input, OutputTokens: r.Output, CacheReadTokens: r.CacheRead, CacheWriteTokens: r.CacheWrite,
			CacheWrite_1HTokens: r.CacheWrite1h, ThinkingTokens: r.Thinking,
			InputImageTokens: r.InputImage, InputAudioTokens: r.InputAudio,
			OutputImageTokens: r.OutputImage, OutputAudioTokens: r.OutputAudio, Images: r.Images,
		})
	}
	return resp, nil
}
