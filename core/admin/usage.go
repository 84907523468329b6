package admin

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/ledger"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// dimensions are the contract's dimensions.
var dimensions = map[adminv1.Dimension]ledger.Dimension{
	adminv1.Dimension_DIMENSION_KEY:          ledger.ByKey,
	adminv1.Dimension_DIMENSION_MODEL:        ledger.ByModel,
	adminv1.Dimension_DIMENSION_DAY:          ledger.ByDay,
	adminv1.Dimension_DIMENSION_HOUR:         ledger.ByHour,
	adminv1.Dimension_DIMENSION_PROTOCOL:     ledger.ByProtocol,
	adminv1.Dimension_DIMENSION_UPSTREAM:     ledger.ByUpstream,
	adminv1.Dimension_DIMENSION_OWNER:        ledger.ByOwner,
	adminv1.Dimension_DIMENSION_SERVED_MODEL: ledger.ByServed,
}

// maxUsageRows is how many rows a report may have: a message of about 20 MB.
const maxUsageRows = 100_000

// GetUsage reports what requests used.
func (s *Service) GetUsage(ctx context.Context, req *adminv1.GetUsageRequest) (*adminv1.GetUsageResponse, error) {
	query := ledger.Query{By: []ledger.Dimension{ledger.ByDay}}
	if len(req.GetBy()) > 0 {
		query.By = nil
	}
	for i, d := range req.GetBy() {
		at := fmt.Sprintf("by[%d]", i)
		by, ok := dimensions[d]
		switch {
		case !ok:
			return nil, fault.Invalid(at, "%s: unknown dimension %d", at, d)
		case slices.Contains(query.By, by):
			return nil, fault.Invalid(at, "%s: the same value is given twice", at)
		}
		query.By = append(query.By, by)
	}
	for _, bound := range []struct {
		name string
		from *timestamppb.Timestamp
		to   *time.Time
	}{{"since", req.GetSince(), &query.Since}, {"until", req.GetUntil(), &query.Until}} {
		if bound.from == nil {
			continue
		}
		if err := bound.from.CheckValid(); err != nil {
			return nil, fault.Invalid(bound.name, "%s: expected a time from year 1 to 9999", bound.name)
		}
		*bound.to = bound.from.AsTime()
	}
	query.Limit = maxUsageRows + 1
	rows, err := s.config.Usage.Report(ctx, query)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	if len(rows) > maxUsageRows {
		return nil, fault.Invalid("by", "by: the report has more than %d rows; ask for a shorter time or fewer dimensions, or use genway usage", maxUsageRows)
	}
	resp := &adminv1.GetUsageResponse{}
	var total ledger.Row
	for _, r := range rows {
		resp.Rows = append(resp.Rows, usageRow(r))
		total.Add(r)
	}
	if len(rows) > 0 {
		resp.Total = usageRow(total)
	}
	if resp.KeyNames, err = s.names(ctx, keysOfUsage(query.By, rows)); err != nil {
		return nil, err
	}
	return resp, nil
}

// usageRow is a row as the contract has it.
func usageRow(r ledger.Row) *adminv1.UsageRow {
	m := &adminv1.UsageRow{
		Values: r.Values, Requests: r.Requests, Ok: r.OK, Failed: r.Failed, Cancelled: r.Cancelled, Interrupted: r.Interrupted, Open: r.Open,
		CostNanoDollars: r.Cost, Unpriced: r.Unpriced, Estimated: r.Estimated, Rejected: r.Rejected, FirstEvents: firstEvents(r),
	}
	setKinds(m, &r.Usage)
	return m
}

// firstEvents are a row's times to first events. Durations of no time are left out: without a first
// event there are none.
func firstEvents(r ledger.Row) *adminv1.FirstEvents {
	f := r.FirstEvents
	return &adminv1.FirstEvents{
		Count: f.Count(), Unknown: max(0, r.Requests-f.Known),
		Mean: some(f.Mean()), P50: some(f.Quantile(0.5)), P95: some(f.Quantile(0.95)),
	}
}
