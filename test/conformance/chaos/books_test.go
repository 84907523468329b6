package chaos

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// books are what the callers and the upstream say of requests, to hold the ledger to.
type books struct {
	mu   sync.Mutex
	seen map[int]outcome
}

// outcome is what a caller saw of a request.
type outcome struct {
	request
	whole bool
	// saw is the answer that was not whole, for errors.
	saw string
	// lost says that the server was killed meanwhile.
	lost bool
}

// seen is the outcome of a request whose answer was that.
func (r request) seen(answer caller.Seen) outcome {
	o := outcome{request: r, whole: answer.Whole, saw: "a whole answer"}
	if !o.whole {
		o.saw = fmt.Sprintf("%d %.300q", answer.Status, answer.Body)
	}
	return o
}

func (b *books) note(o outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil {
		b.seen = map[int]outcome{}
	}
	b.seen[o.n] = o
}

func (b *books) get(n int) (outcome, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o, ok := b.seen[n]
	return o, ok
}

// accepted is how many requests must have a row.
func (b *books) accepted() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.seen {
		if !o.refused && !o.lost {
			n++
		}
	}
	return n
}

// summary is what the rows come to.
type summary struct {
	Rows          int
	Outcomes      map[string]int
	Input, Output int64
	Cost          int64
}

// check compares the ledger with the books: for each request its row, or none, with what
// the upstream says that it answered.
func (b *books) check(t *testing.T, ledger []rows.Row, v *vendors.Server) summary {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	sum := summary{Rows: len(ledger), Outcomes: map[string]int{}}
	byNumber := map[int][]rows.Row{}
	for _, r := range ledger {
		n := vendors.Number(r.Model)
		byNumber[n] = append(byNumber[n], r)
		sum.Outcomes[r.Outcome]++
		sum.Input, sum.Output, sum.Cost = sum.Input+r.Input, sum.Output+r.Output, sum.Cost+r.Cost
		if _, known := b.seen[n]; !known {
			t.Errorf("a row of a request that was not made: %+v", r)
		}
	}
	faults := 0
	for n, o := range b.seen {
		if why := o.wrong(byNumber[n], v.Answered(n)); why != "" {
			if faults++; faults <= 20 {
				t.Errorf("request %d, %+v: %s: the caller saw %s, the upstream answered %+v, rows %+v", n, o.call, why, o.saw, v.Answered(n), byNumber[n])
			}
		}
	}
	if faults > 20 {
		t.Errorf("and %d more", faults-20)
	}
	return sum
}

// wrong says what is wrong with the rows of a request.
func (o outcome) wrong(found []rows.Row, answered vendors.Answered) string {
	switch {
	case o.refused && len(found) == 0, o.lost && len(found) == 0:
		return ""
	case o.refused:
		return "what was not accepted has a row"
	case len(found) != 1:
		return "it has not one row"
	}
	r := found[0]
	input, output := vendors.Tokens(o.n)
	exact := r.Input == input && r.Output == output
	switch may := o.may(); {
	case !slices.Contains(may, r.Outcome):
		return "its outcome is none of " + strings.Join(may, ", ")
	case r.Outcome == "ok" && (!exact || !answered.Whole):
		return "a whole answer has other tokens than the upstream has answered"
	case o.leaves() && o.drains && !o.lost && (!exact || !answered.Whole):
		return "an answer that was read to its end has other tokens than the upstream has answered"
	case answered.Calls == 0 && r.Input+r.Output > 0, r.Source == "" && (r.Input > input || r.Output > output):
		return "it has tokens that the upstream has not answered"
	case r.Source != "" && (r.Source != "estimated" || r.Outcome == "ok" || r.Output > maxSeen):
		return "it is no estimate of an answer that broke off"
	case o.do == vendors.Cut && !o.lost && r.Input == 0:
		return "an answer that broke off costs nothing"
	case r.Cost != vendors.Cost(r.Input, r.Output):
		return "it costs something else"
	}
	return ""
}

// maxSeen is more than the tokens of any answer's text.
const maxSeen = 40

// may returns the outcomes that a row may have.
func (o outcome) may() []string {
	switch {
	case o.lost:
		return []string{"ok", "failed", "cancelled", "interrupted"}
	case o.whole:
		return []string{"ok"}
	case o.leaves() && (o.drains || o.do == vendors.LeaveMiddle):
		return []string{"cancelled", "ok"} // ok when the answer was faster
	case o.leaves():
		return []string{"cancelled"}
	}
	return []string{"failed"}
}

// atRest waits until no row is open, and returns all.
func atRest(t *testing.T, db *rows.Database, limit time.Duration) []rows.Row {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); ; <-tick.C {
		open := db.InFlight(t)
		if len(open) == 0 {
			return db.Ledger(t)
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v %d rows are open: %+v", limit, len(open), open[0])
		}
	}
}

// proved has the program hold its ledger against itself: the sums by any dimension, and
// what budgets go on from.
func proved(t *testing.T, data string) {
	t.Helper()
	if out, err := server.Output("genway", append([]string{"ledger", "check"}, server.At(data)...)...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
