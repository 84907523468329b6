package core

import (
	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/ledger"
)

// addSpent adds to a result what the failed attempts of its request reported to have
// used, each by the prices of its own upstream. The result's Price stays that of the
// attempt that answered.
func (s *Service) addSpent(record *call.Record, r *ledger.Result) {
	for _, spent := range record.Spent {
		if !plausible(spent.Usage) {
			r.UsageSource = ledger.Rejected
			continue
		}
		usage := usageOf(spent.Usage)
		r.Usage = sumOf(r.Usage, usage)
		if s.config.Prices == nil {
			continue
		}
		if p, ok := s.config.Prices.FindFirst(spent.Upstream, []string{spent.Model, record.AskedModel}, record.Start); ok {
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
