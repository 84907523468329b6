package limit

import (
	"errors"
	"fmt"
	"slices"
)

// Most is the largest figure of a limit a minute, and of requests at once.
const Most = 1_000_000_000

// MostTokens is the largest number of tokens that a request may claim, in and out and of
// all its candidates together, where tokens a minute are limited. It is far above what a
// model reads and writes; a request that claims more is refused and takes nothing.
const MostTokens = 100_000_000

// Validate refuses figures below 0 or above Most, and budgets of no amount, of an
// unknown period or of one period twice.
func (l Limits) Validate() error {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"requests a minute", l.RequestsPerMinute}, {"tokens a minute", l.TokensPerMinute}, {"concurrent requests", l.Concurrent},
	} {
		if f.value < 0 || f.value > Most {
			return fmt.Errorf("%s: expected 0 to %d, got %d", f.name, Most, f.value)
		}
	}
	for i, b := range l.Budgets {
		switch {
		case b.Amount <= 0 || b.Amount > maxDollars*Dollar:
			return fmt.Errorf("a budget is above 0 and at most %d dollars", maxDollars)
		case !slices.Contains(Periods, b.Period):
			return fmt.Errorf("%q is no period of a budget; one of day, month", b.Period)
		case slices.ContainsFunc(l.Budgets[:i], func(o Budget) bool { return o.Period == b.Period }):
			return errors.New("two budgets for one " + string(b.Period))
		}
	}
	return nil
}
