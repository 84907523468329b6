package admin

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/limit"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// GetLimits says where a key stands with its limits.
func (s *Service) GetLimits(ctx context.Context, req *adminv1.GetLimitsRequest) (*adminv1.GetLimitsResponse, error) {
	if err := named(req.GetKey()); err != nil {
		return nil, err
	}
	key, err := s.config.Keys.Get(ctx, req.GetKey())
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	gauges, err := s.config.Limiter.Gauges(ctx, limit.Who{KeyID: key.ID, Owner: key.Owner, Limits: key.Policy.Limits})
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	now := s.config.Clock()
	resp := &adminv1.GetLimitsResponse{}
	for _, g := range gauges {
		m := &adminv1.LimitGauge{Scope: g.Scope.String(), Limit: g.Metric.Name(), Most: g.Most}
		if g.Known {
			m.Used = &g.Used
		}
		if g.Metric == limit.Money {
			if err := s.budget(ctx, m, g, now); err != nil {
				return nil, unavailable(ctx, err)
			}
		}
		resp.Gauges = append(resp.Gauges, m)
	}
	return resp, nil
}

// budget fills in what is spent of a budget.
func (s *Service) budget(ctx context.Context, m *adminv1.LimitGauge, g limit.Gauge, now time.Time) error {
	keyID, owner := g.ID, ""
	if g.Scope == limit.Owner {
		keyID, owner = "", g.ID
	}
	start, end := g.Period.Start(now), g.Period.End(now)
	spends, err := s.config.Usage.Spent(ctx, start, keyID, owner)
	if err != nil {
		return err
	}
	spent := int64(0)
	for _, s := range spends {
		spent = amount.Sum(spent, s.Cost)
	}
	m.Period, m.Used, m.ResetTime = inverse(periods, g.Period), &spent, timestamppb.New(end)
	if spent > 0 && spent < g.Most {
		// It is an estimate: a float64 does, and holds what an int64 does not.
		if lasts := float64(now.Sub(start)) * (float64(g.Most) / float64(spent)); lasts < float64(end.Sub(start)) {
			m.SpentTime = timestamppb.New(start.Add(time.Duration(lasts)))
		}
	}
	return nil
}
