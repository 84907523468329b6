package shared

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/genway/genway/core/limit"
)

// lost notes that the server does not answer. The log and the hook are told once.
func (s *Store) lost(err error) {
	if !s.gone.CompareAndSwap(false, true) {
		return
	}
	policy := "closed: requests with limits are refused"
	if s.policy.Load().Local {
		policy = "local: each core admits its share by its own count"
	}
	s.config.Logger.Error("the shared store of limits does not answer", "policy", policy, "error", err)
	s.tell(true)
	s.queue.signal()
}

// found notes that it answers again.
func (s *Store) found() {
	if s.gone.CompareAndSwap(true, false) {
		s.config.Logger.Info("the shared store of limits answers again")
		s.tell(false)
	}
}

func (s *Store) tell(gone bool) {
	if s.config.OnGone != nil {
		s.config.OnGone(gone)
	}
}

// alone admits by this core's own count, if the policy lets it.
func (s *Store) alone(ctx context.Context, claim *limit.Claim) (limit.Standing, error) {
	policy := s.policy.Load()
	if !policy.Local {
		return limit.Standing{}, limit.ErrGone
	}
	claim.Alone = true
	full := claim.Subjects
	own := make([]limit.Subject, len(full))
	for i := range full {
		own[i] = full[i]
		own[i].Bounds = s.share(&full[i], policy.Share, claim)
	}
	claim.Subjects = own
	standing, err := s.local.Reserve(ctx, claim)
	if r, ok := errors.AsType[*limit.Refusal](err); ok {
		tellWhole(r, full)
	}
	return standing, err
}

// tellWhole has a refusal by a share name the whole limit too: the caller knows no shares.
// A request that has no room in the share alone may have it when the server is back.
func tellWhole(r *limit.Refusal, full []limit.Subject) {
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
// was left when the server was heard of last.
func (s *Store) share(b *limit.Subject, share float64, claim *limit.Claim) limit.Bounds {
	part := func(n int64) int64 {
		if n == 0 {
			return 0
		}
		return max(int64(math.Floor(float64(n)*share)), 1)
	}
	bounds := limit.Bounds{Requests: part(b.Requests), Tokens: part(b.Tokens), Concurrent: part(b.Concurrent)}
	for p, most := range b.Budgets {
		if most > 0 {
			known := s.known.get(budget{b.Scope, b.ID, p, claim.Starts[p]})
			bounds.Budgets[p] = max(min(known, most)+int64(float64(max(most-known, 0))*share), 1)
		}
	}
	return bounds
}
