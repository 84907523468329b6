package admin

import (
	"cmp"
	"context"
	"slices"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// maxBudgets is how many budgets GetStatus returns.
const maxBudgets = 20

// GetStatus returns how things stand now.
func (s *Service) GetStatus(ctx context.Context, _ *adminv1.GetStatusRequest) (*adminv1.GetStatusResponse, error) {
	nodes, err := s.ListNodes(ctx, &adminv1.ListNodesRequest{})
	if err != nil {
		return nil, err
	}
	resp := &adminv1.GetStatusResponse{Nodes: nodes.GetNodes()}
	if s.config.Topology != nil {
		resp.Upstreams, resp.ConfigurationProblem = s.config.Topology.Upstreams(), s.config.Topology.Configuration().GetProblem()
	}
	if resp.Budgets, err = s.budgets(ctx); err != nil {
		return nil, unavailable(ctx, err)
	}
	resp.BudgetCount = int64(len(resp.GetBudgets()))
	resp.Budgets = resp.GetBudgets()[:min(len(resp.GetBudgets()), maxBudgets)]
	return resp, nil
}

// budgets returns all budgets of live keys and their owners, the one first of which the greatest part is spent.
func (s *Service) budgets(ctx context.Context) ([]*adminv1.BudgetUse, error) {
	type subject struct {
		scope  limit.Scope
		id     string
		period limit.Period
	}
	now := s.config.Clock()
	spent := map[subject]int64{}
	for _, period := range limit.Periods {
		spends, err := s.config.Usage.Spent(ctx, period.Start(now), "", "")
		if err != nil {
			return nil, err
		}
		for _, spend := range spends {
			for _, of := range []subject{{limit.Key, spend.KeyID, period}, {limit.Owner, spend.Owner, period}} {
				spent[of] = amount.Sum(spent[of], spend.Cost)
			}
		}
	}
	var budgets []*adminv1.BudgetUse
	listed := map[subject]bool{}
	for key, err := range s.config.Keys.All(ctx, keys.Query{LiveAt: now}) {
		if err != nil {
			return nil, err
		}
		for _, g := range s.config.Limiter.Budgets(limit.Who{KeyID: key.ID, Owner: key.Owner, Limits: key.Policy.Limits}) {
			of := subject{g.Scope, g.ID, g.Period}
			if listed[of] {
				continue
			}
			listed[of] = true
			use := &adminv1.BudgetUse{Owner: key.Owner, Gauge: &adminv1.LimitGauge{Scope: g.Scope.String(), Limit: g.Metric.Name(), Most: g.Most}}
			if g.Scope != limit.Owner {
				use.KeyId, use.KeyName = key.ID, key.Name
			}
			spend(use.GetGauge(), g, spent[of], now)
			budgets = append(budgets, use)
		}
	}
	slices.SortStableFunc(budgets, func(a, b *adminv1.BudgetUse) int { return cmp.Compare(part(b), part(a)) })
	return budgets, nil
}

// part is how much of a budget is spent: 1 is all of it.
func part(b *adminv1.BudgetUse) float64 {
	return float64(b.GetGauge().GetUsed()) / float64(b.GetGauge().GetMost())
}
