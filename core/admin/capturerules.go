package admin

import (
	"context"
	"time"

	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/keys"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// ListCaptureRules lists the rules that hold now. A rule whose end is further ahead than any may be captures
// nothing: the clock was put back.
func (s *Service) ListCaptureRules(ctx context.Context, _ *adminv1.ListCaptureRulesRequest) (*adminv1.ListCaptureRulesResponse, error) {
	now, resp := s.config.Clock(), &adminv1.ListCaptureRulesResponse{}
	for key, err := range s.config.Keys.All(ctx, keys.Query{LiveAt: now}) {
		if err != nil {
			return nil, failure(ctx, err, inSession)
		}
		if rule := key.Policy.Capture; rule != nil && runs(rule.Until, now) {
			resp.Rules = append(resp.Rules, &adminv1.RunningCapture{KeyId: key.ID, KeyName: key.Name, Rule: CaptureMessage(rule)})
		}
	}
	if s.config.Topology == nil {
		return resp, nil
	}
	for _, route := range s.config.Topology.Routes() {
		if rule := route.GetCapture(); rule != nil && runs(rule.GetUntil().AsTime(), now) {
			resp.Rules = append(resp.Rules, &adminv1.RunningCapture{Route: route.GetModel(), Protocols: route.GetProtocols(), Rule: rule})
		}
	}
	return resp, nil
}

// runs reports whether a rule that ends then captures bodies now.
func runs(until, now time.Time) bool { return until.After(now) && until.Sub(now) <= capture.MaxAhead }
