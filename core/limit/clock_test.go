package limit_test

import (
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
)

// Case N64: a wall clock that jumps by a day and is put right again grants no budget twice,
// and the key is admitted again when the later of the two days is over.
func TestN64ClockJumpsGiveNoBudgetTwice(t *testing.T) {
	const day = 24 * time.Hour
	for name, jump := range map[string]time.Duration{"ahead": day, "back": -day} {
		t.Run(name, func(t *testing.T) {
			c := clockAt(start)
			l := c.limiter(limit.Rules{})
			w := who(limit.Limits{Budgets: []limit.Budget{{Amount: 10, Period: limit.Day}}})
			admitted := 0
			spend := func() {
				t.Helper()
				for range 20 {
					if r, _ := ask(t, l, w, limit.Amount{Cost: 1}); r != nil {
						r.Settle(limit.Amount{Cost: 1})
						admitted++
					}
				}
			}
			days := 1
			if jump > 0 {
				days = 2 // the clock says that it is two days
			}
			spend()
			c.pass(jump)
			spend()
			c.pass(-jump)
			spend()
			if admitted != 10*days {
				t.Errorf("%d admitted, a day's budget is 10 and there were %d days", admitted, days)
			}
			if jump > 0 {
				c.pass(day) // what was spent ahead of this day is of its budget
				if spend(); admitted != 20 {
					t.Errorf("%d admitted: a day's budget was given twice", admitted)
				}
			}
			c.pass(day)
			if spend(); admitted != 10*(days+1) {
				t.Errorf("%d admitted once the clock is right and the day over, want %d", admitted, 10*(days+1))
			}
		})
	}
}
