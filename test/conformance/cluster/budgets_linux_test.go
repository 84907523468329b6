package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/vendors"
)

const (
	// reserved is the most that a call of budgeted reserves: 128 tokens out, and its body.
	reserved = 2_200_000
	// usual is about what it costs.
	usual = 579_000
)

// budget is the key of a phase that is spent in it.
type budget struct {
	key   string
	limit int64 // nano-dollars
}

// newBudgets makes a key for each phase, with a budget for about half of what is asked of it.
func newBudgets(s *site, count, rate int, hold time.Duration) []budget {
	all := make([]budget, count)
	for i := range all {
		n := max(10, int64(float64(rate)*hold.Seconds()/2))
		all[i].limit = n * usual
		all[i].key = s.key("chat", fmt.Sprintf("budget-%d", i), "--budget-month", fmt.Sprintf("%d.%09d", all[i].limit/1e9, all[i].limit%1e9))
	}
	return all
}

// ask asks at a rate until ctx ends.
func (b budget) ask(ctx context.Context, l *load, phase, rate int) {
	l.paced(ctx, float64(rate), func(n int) { l.do(ctx, budgeted(b.key, n), asked{n: n, budget: phase + 1}) })
}

// spendAll asks until each budget has nothing left, since what is held comes back at last.
func spendAll(ctx context.Context, l *load, all []budget) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var running sync.WaitGroup
	errs := make(chan error, len(all))
	for i, b := range all {
		running.Go(func() {
			tick := time.NewTicker(200 * time.Millisecond)
			defer tick.Stop()
			for {
				n := int(l.next.Add(1))
				if spent(l.do(ctx, budgeted(b.key, n), asked{n: n, budget: i + 1})) {
					return
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					errs <- fmt.Errorf("the budget of phase %d is not spent in the end", i)
					return
				}
			}
		})
	}
	running.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// bill is what a budget came to.
type bill struct {
	limit, spent int64
	// above is how much more than the budget may be spent, and below how much less.
	above, below int64
}

// exact says that not more and not less was spent than may be.
func (b bill) exact() bool { return b.spent <= b.limit+b.above && b.spent >= b.limit-b.below }

// settle computes the bills of all budgets.
//
// A core that has lost the shared limits, by its own log, admits up to localShare of the remainder
// that it read last, which was when it admitted its last request of the budget: the busiest of the
// cores gets none for a while. The other cores may still spend the whole remainder, so that share is an excess,
// unless all three cores have lost the limits. A Redis primary that dies loses the writes that it had
// not replicated, and a core that dies loses the usage that it had not reported: at most that of the
// requests in flight in the second before.
func settle(all []budget, what []phase, windows []window, requests map[int]asked, ledger []rows.Row, alone []episode) []bill {
	bills := make([]bill, len(all))
	for i := range all {
		bills[i] = bill{limit: all[i].limit, below: reserved}
		mine, last := []paid{}, time.Time{}
		for _, r := range ledger {
			a := requests[vendors.Number(r.Model)]
			if a.budget != i+1 {
				continue
			}
			mine = append(mine, paid{a.begun, a.ended, r.Cost})
			bills[i].spent += r.Cost
			if a.ended.After(last) {
				last = a.ended
			}
		}
		// What ended before a core asked is in what it read.
		left := func(at time.Time) int64 {
			n := bills[i].limit
			for _, m := range mine {
				if m.ended.Before(at) {
					n -= m.cost
				}
			}
			return max(0, n)
		}
		for _, e := range alone {
			if e.end.After(windows[i].begun.Add(-prelude)) && e.begun.Before(last) {
				bills[i].above += int64(localShare * float64(left(e.lastRead(requests, i+1))))
			}
		}
		begun := windows[i].begun
		if what[i].forgets {
			bills[i].above = max(0, bills[i].above-left(begun.Add(-time.Second)))
		}
		for _, m := range mine {
			if (what[i].forgets || what[i].kills) && m.begun.Before(begun.Add(time.Second)) && m.ended.After(begun.Add(-time.Second)) {
				bills[i].above += m.cost
			}
		}
	}
	return bills
}

// paid is a request of a budget.
type paid struct {
	begun, ended time.Time
	cost         int64
}

// episode is a time in which a core was without the shared limits.
type episode struct {
	begun, end time.Time
	// before are the numbers of the requests that the core had answered until then, with the limits.
	before []int
}

// lastRead is when the core began the last request of a budget for which it asked for the limits; the
// zero time if there is none.
func (e episode) lastRead(requests map[int]asked, budget int) (last time.Time) {
	for _, n := range e.before {
		if a := requests[n]; a.budget == budget && a.begun.After(last) {
			last = a.begun
		}
	}
	return last
}

// episodes reads them from the log of a core.
func episodes(log []byte) (all []episode, err error) {
	open, before, asked := false, []int(nil), []byte(`"asked_model":"`+vendors.Answer+"-"+budgetedAs)
	for line := range bytes.Lines(log) {
		var r struct {
			Time  time.Time `json:"time"`
			Msg   string    `json:"msg"`
			Model string    `json:"asked_model"`
		}
		answered := !open && bytes.Contains(line, asked)
		if !answered && !bytes.Contains(line, []byte("the shared store of limits")) {
			continue
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		if answered {
			before = append(before, vendors.Number(r.Model))
			continue
		}
		switch r.Msg {
		case "the shared store of limits does not answer":
			all, open = append(all, episode{begun: r.Time, end: time.Now(), before: before}), true
		case "the shared store of limits answers again":
			if !open {
				return nil, fmt.Errorf("the limits answer again, and were not away: %s", line)
			}
			all[len(all)-1].end, open = r.Time, false
		}
	}
	return all, nil
}
