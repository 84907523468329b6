package core

import (
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/protocol/deferred"
)

// spent are what the failed calls of a request may cost that were followed by another, each by the prices of its
// own upstream: what the upstream reported, or else the request.
func (s *Service) spent(a *admission, r *ledger.Result) []ledger.Charge {
	var charges []ledger.Charge
	for _, spent := range a.record.Spent {
		usage := usageOf(spent.Usage)
		switch req, text := a.req.(*deferred.Request); {
		case !plausible(spent.Usage):
			r.UsageSource = ledger.Rejected
			continue
		case spent.Usage != nil:
		case !text:
			continue
		default:
			usage = a.inputUsage(req)
			if r.UsageSource == ledger.Reported {
				r.UsageSource = ledger.Estimated
			}
		}
		call := answering{upstream: spent.Upstream, model: spent.Model, tier: spent.ServedTier, names: []string{spent.Model, a.record.AskedModel}}
		charges = s.charged(charges, a.record.Start, call, ledger.FailedAttempt, usage, spent.Usage)
	}
	return charges
}
