package cluster

import (
	"fmt"
	"strings"

	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// complaints collects what is wrong, and prints the first of each kind.
type complaints struct{ of map[string][]string }

func (c *complaints) addf(kind, format string, args ...any) {
	if c.of == nil {
		c.of = map[string][]string{}
	}
	c.of[kind] = append(c.of[kind], fmt.Sprintf(format, args...))
}

// books holds the ledger to what callers saw and to what the vendors answered.
type books struct {
	accepted, once int
	outcomes       map[string]int
}

// check compares request by request.
func check(requests map[int]asked, ledger []rows.Row, v *vendors.Server, c *complaints) books {
	b := books{outcomes: map[string]int{}}
	count, ok := map[int]int{}, map[int]bool{}
	for _, r := range ledger {
		n := vendors.Number(r.Model)
		count[n]++
		b.outcomes[r.Outcome]++
		a, known := requests[n]
		switch input, output := vendors.Tokens(n); {
		case !known:
			c.addf("rows of requests that nobody made", "%+v", r)
		case r.Outcome == "open":
			c.addf("rows that are open in the end", "%+v", r)
		case r.Outcome == "ok":
			ok[n] = true
			if r.Input != input || r.Output != output || r.Cost != vendors.Cost(input, output) {
				c.addf("rows with other figures than the vendors'", "want %d and %d tokens: %+v", input, output, r)
			}
		case a.kind == whole:
			c.addf("answers that were whole, of which the row says otherwise", "%+v", r)
		}
	}
	for n, a := range requests {
		told := v.Answered(n)
		if told.Calls > 0 {
			b.accepted++
		}
		switch {
		case told.Calls > 1:
			c.addf("requests that vendors were asked twice", "%d times: %+v", told.Calls, a)
		case count[n] > 1:
			c.addf("requests with several rows", "%d rows: %+v", count[n], a)
		case (told.Calls > 0 || a.kind == whole) && count[n] == 0:
			c.addf("requests without a row", "%+v", a)
		case a.kind == whole && !told.Whole:
			c.addf("answers that were told complete and are not", "%+v", a)
		case count[n] == 1:
			b.once++
		}
	}
	return b
}

// proved has the ledger and the audit prove themselves.
func (s *site) proved(c *complaints) {
	for _, args := range [][]string{{"ledger", "check"}, {"audit", "verify"}} {
		if out, err := server.OutputOf("genway", s.genway, append(args, "--store", s.store.url())...); err != nil {
			c.addf("genway "+strings.Join(args, " "), "%v: %s", err, out)
		}
	}
}
