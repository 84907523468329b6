package shared

import (
	"context"
	"errors"
	"fmt"

	"github.com/genway/genway/core/limit"
)

// Peek asks the server what the claim's subjects use of their rates and places, on all cores
// together. Where it does not answer, the error wraps limit.ErrUnavailable, whatever the policy.
func (s *Store) Peek(ctx context.Context, claim *limit.Claim) ([]limit.Use, error) {
	rates := limit.Claim{Subjects: make([]limit.Subject, len(claim.Subjects))}
	c := &call{}
	for i := range claim.Subjects {
		r := &rates.Subjects[i]
		*r = claim.Subjects[i]
		r.Budgets = [2]int64{}
		for m := range limit.Concurrent {
			if r.Figures[m] > 0 {
				c.key(s.keys.rate(m, r))
				c.arg("rate")
			}
		}
		if r.Figures[limit.Concurrent] > 0 {
			c.key(s.keys.running(r))
			c.arg("many")
		}
	}
	uses := make([]limit.Use, len(rates.Subjects))
	if len(c.keys) == 0 {
		return uses, nil
	}
	if s.unavailable.Load() {
		return nil, limit.ErrUnavailable
	}
	within, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	raw, err := peekScript.run(within, s.client, c.keys, c.args...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(limit.ErrUnavailable, fmt.Errorf("peek: %w", err))
	}
	a, err := read(raw, &rates)
	if err != nil {
		return nil, errors.Join(limit.ErrUnavailable, err)
	}
	for i := range uses {
		uses[i] = a.states[i].Use(&rates.Subjects[i], a.now)
	}
	return uses, nil
}
