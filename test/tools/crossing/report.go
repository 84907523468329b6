package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// report counts what became of the exchanges, by what was crossed and the pair.
type report struct {
	rows map[string]*row
	// vendors are those of each protocol, who judge requests.
	vendors map[string][]*vendor
	// engines get the requests of each protocol.
	engines map[string]*vendor
	// show gets the bodies; nil is nowhere.
	show io.Writer
}

type row struct {
	*report
	what, to, pair              string
	asked, whole, refusals, bad int
	// unwanted is how many bodies a vendor refuses by its rules.
	unwanted int
	counts   map[string]*count
}

// count is how often one thing happened, and to which exchange first.
type count struct {
	n     int
	first string
}

func newReport() (*report, error) {
	r := &report{rows: map[string]*row{}, vendors: map[string][]*vendor{}, engines: map[string]*vendor{}}
	for _, protocol := range names {
		var err error
		if r.vendors[protocol], err = vendorsOf(protocol); err == nil {
			r.engines[protocol], err = newEngine(protocol)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *report) row(what, from, to string) *row {
	pair := fmt.Sprintf("%-8s %-15s -> %-15s", what, from, to)
	if r.rows[pair] == nil {
		r.rows[pair] = &row{report: r, what: what, to: to, pair: pair, counts: map[string]*count{}}
	}
	r.rows[pair].asked++
	return r.rows[pair]
}

var indices = regexp.MustCompile(`\[\d+\]`)

func (r *row) count(x exchange, what, member string) {
	key := what + indices.ReplaceAllString(member, "[]")
	if r.counts[key] == nil {
		r.counts[key] = &count{first: x.ID}
	}
	r.counts[key].n++
}

// refusedKey begins what is counted as a refusal.
const refusedKey = "refused  "

// endedKey begins what is counted as an answer that ended with an error of the upstream's.
const endedKey = "ended by "

// refused notes a refusal. One without a name is a misfit.
func (r *row) refused(x exchange, err error) {
	name := nameOf(err)
	if name == "" {
		r.misfits(x, []misfit{{"$", "fails without naming a member: " + err.Error(), false}}, nil)
		return
	}
	r.refusals++
	r.count(x, refusedKey, name)
	if r.show != nil {
		fmt.Fprintf(r.show, "%s\nrefused: %v\n\n", r.pair, err)
	}
}

// translated notes a translation, with what it lost and where it does not fit.
func (r *row) translated(x exchange, losses []*genwayv1.Loss, all []misfit, body []byte) {
	for _, l := range losses {
		r.count(x, "lost     ", l.GetMember())
		if l.GetMember() == "" {
			all = append(all, misfit{"$", "a loss has no name: " + l.GetReason(), false})
		}
	}
	if r.show != nil {
		fmt.Fprintf(r.show, "%s\n%s\n\n", r.pair, body)
	}
	if !r.misfits(x, all, nil) {
		r.whole++
	}
}

// misfits notes where something does not fit, and reports whether anything is not
// meant.
func (r *row) misfits(x exchange, all []misfit, body []byte) bool {
	bad := false
	for _, m := range all {
		if r.intends(m) {
			r.count(x, "intended ", m.String())
			continue
		}
		bad = true
		r.count(x, "DOES NOT FIT  ", m.String())
	}
	if !bad {
		return false
	}
	r.bad++
	if r.show != nil && body != nil {
		fmt.Fprintf(r.show, "%s\n%s\n\n", r.pair, body)
	}
	return true
}

// failed reports whether anything does not fit, or nothing was asked.
func (r *report) failed() bool {
	for _, row := range r.rows {
		if row.bad > 0 || row.unwanted > 0 {
			return true
		}
	}
	return len(r.rows) == 0
}

// causes prints what was counted below a key, in all pairs together.
func (r *report) causes(w io.Writer, key string) {
	causes := map[string]int{}
	for _, row := range r.rows {
		for counted, c := range row.counts {
			if cause, ok := strings.CutPrefix(counted, key); ok {
				causes[cause] += c.n
			}
		}
	}
	for _, cause := range slices.SortedFunc(maps.Keys(causes), func(a, b string) int {
		return cmp.Or(cmp.Compare(causes[b], causes[a]), strings.Compare(a, b))
	}) {
		fmt.Fprintf(w, "%7d  %s\n", causes[cause], cause)
	}
}

func (r *report) print(w io.Writer) {
	total := row{}
	fmt.Fprintf(w, "%-44s %9s %10s %7s %12s  %s\n", "", "exchanges", "translated", "refused", "incompatible", "refused by the vendor's rules")
	for _, pair := range slices.Sorted(maps.Keys(r.rows)) {
		row := r.rows[pair]
		fmt.Fprintf(w, "%-44s %9d %10d %7d %12d  %29d\n", pair, row.asked, row.whole, row.refusals, row.bad, row.unwanted)
		total.unwanted += row.unwanted
		total.asked, total.whole, total.refusals, total.bad = total.asked+row.asked, total.whole+row.whole, total.refusals+row.refusals, total.bad+row.bad
	}
	fmt.Fprintf(w, "%-44s %9d %10d %7d %12d  %29d\n", "all", total.asked, total.whole, total.refusals, total.bad, total.unwanted)
	fmt.Fprintln(w, "\nrefused by")
	r.causes(w, refusedKey)
	fmt.Fprintln(w, "\nanswers ended by an error of the upstream's")
	r.causes(w, endedKey)
	fmt.Fprintln(w, "\nrefused by the vendor's rules")
	r.causes(w, vendorKey)
	for _, pair := range slices.Sorted(maps.Keys(r.rows)) {
		row := r.rows[pair]
		if len(row.counts) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(pair))
		for _, key := range slices.SortedFunc(maps.Keys(row.counts), func(a, b string) int {
			return row.counts[b].n*1000 - row.counts[a].n*1000 + strings.Compare(a, b)
		}) {
			fmt.Fprintf(w, "%7d  %s  (%s)\n", row.counts[key].n, key, row.counts[key].first)
		}
	}
}
