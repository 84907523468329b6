package core

import (
	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/protocol/deferred"
)

// addSpent adds to a result what the failed calls of its request may cost that were followed by
// another, each by the prices of its own upstream: what the upstream reported, or else the request. The
// result's Price stays that of the call that answered.
func (s *Service) addSpent(a *admission, r *ledger.Result) {
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
		r.Usage = sumOf(r.Usage, usage)
		if s.config.Prices == nil {
			continue
		}
		if p, ok := s.config.Prices.FindFirst(spent.Upstream, []string{spent.Model, a.record.AskedModel}, a.record.Start); ok {
			r.Cost = amount.Bound(amount.Sum(r.Cost, p.Cost(usage)))
		}
	}
}

func sumOf(a, b ledger.Usage) ledger.Usage {
	sum := func(a, b int64) int64 { return amount.Bound(amount.Sum(amount.Bound(a), amount.Bound(b))) }
	return ledger.Usage{
		Input:        sum(a.Input, b.Input),
		Output:       sum(a.Output, b.Output),
		CacheRead:    sum(a.CacheRead, b.CacheRead),
		CacheWrite:   sum(a.CacheWrite, b.CacheWrite),
		CacheWrite1h: sum(a.CacheWrite1h, b.CacheWrite1h),
		InputImage:   sum(a.InputImage, b.InputImage),
		InputAudio:   sum(a.InputAudio, b.InputAudio),
		Thinking:     sum(a.Thinking, b.Thinking),
		OutputImage:  sum(a.OutputImage, b.OutputImage),
		OutputAudio:  sum(a.OutputAudio, b.OutputAudio),
		Images:       sum(a.Images, b.Images),
	}
}
