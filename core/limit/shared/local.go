package shared

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/genway/genway/core/limit"
)

// lost records that the server does not answer, and reports it once to the log and to the hook.
func (s *Store) lost(err error) {
	if s.unavailable.Load() {
		return
	}
	now := time.Now()
	s.lostAt.Store(&now) // before others may read it
	if !s.unavailable.CompareAndSwap(false, true) {
		return
	}
	policy := "closed: requests with limits are refused"
	if s.policy.Load().Local {
		policy = "local: each core admits its share by its own count"
	}
	s.config.Logger.Error("the shared store of limits does not answer", "policy", policy, "error", err)
	s.report(true)
	s.queue.signal()
}

// found records that the server answers again.
func (s *Store) found() {
	if s.unavailable.CompareAndSwap(true, false) {
		s.config.Logger.Info("the shared store of limits answers again")
		s.report(false)
	}
}

func (s *Store) report(unavailable bool) {
	if s.config.OnUnavailable != nil {
		s.config.OnUnavailable(unavailable)
	}
}

// reserveLocally admits by this core's own count, if the policy permits it.
func (s *Store) reserveLocally(ctx context.Context, claim *limit.Claim) (limit.Standing, error) {
	s.assume(claim)
	policy := s.policy.Load()
	if !policy.Local {
		return limit.Standing{}, limit.ErrUnavailable
	}
	claim.Local = true
	full := claim.Subjects
	own := make([]limit.Subject, len(full))
	for i := range full {
		own[i] = full[i]
		own[i].Bounds = s.share(&full[i], policy.Share, claim)
	}
	claim.Subjects = own
	standing, err := s.local.Reserve(ctx, claim)
	if r, ok := errors.AsType[*limit.Refusal](err); ok {
		nameWhole(r, full)
	}
	return standing, err
}

// nameWhole has a refusal by a share name the whole limit too: the caller knows no shares.
// A request that is too large only for the share may be admitted when the server is back.
func nameWhole(r *limit.Refusal, full []limit.Subject) {
	if r.Never && r.Metric != limit.Money {
		return // it is no limit of the subject's
	}
	for i := range full {
		if full[i].Scope != r.Scope {
			continue
		}
		whole := full[i].Figure(r.Metric, r.Period)
		if whole > r.Limit {
			r.Share, r.Limit = r.Limit, whole
			if r.Never && r.Asked <= whole {
				r.Never, r.After = false, time.Second
			}
		}
		return
	}
}

// share is this core's share of a subject's bounds. Of a budget it is the share of what
// was left when the server answered last.
func (s *Store) share(b *limit.Subject, share float64, claim *limit.Claim) limit.Bounds {
	part := func(n int64) int64 {
		if n == 0 {
			return 0
		}
		return max(int64(math.Floor(float64(n)*share)), 1)
	}
	var bounds limit.Bounds
	for m, most := range b.Figures {
		bounds.Figures[m] = part(most)
	}
	for p, most := range b.Budgets {
		if most > 0 {
			known := s.known.count(budget{b.Scope, b.ID, p, claim.Starts[p]})
			bounds.Budgets[p] = max(min(known, most)+int64(float64(max(most-known, 0))*share), 1)
		}
	}
	return bounds
}
