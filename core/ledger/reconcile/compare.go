package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
)

// Scope says which of the ledger's requests the answers belong to.
type Scope struct {
	// Since and Until are as in ledger.Query.
	Since, Until time.Time
	// Upstream, unless empty, leaves out what others served.
	Upstream string
	// Used leaves out requests that used nothing: errors, and counts of tokens.
	Used bool
	// Read, unless nil, is called now and then with the number of entries read so far.
	Read func(entries int64)
}

// Result is how the ledger and the answers compare. Its rows are in the order of their
// values.
type Result struct {
	Matched int
	// MissingInLedger and MissingInAnswers are what only the other side has.
	MissingInLedger, MissingInAnswers []ledger.Row
	Differing                         []Difference
}

// Difference is a figure of two rows of the same values.
type Difference struct {
	Values          []string
	Figure          string
	Ledger, Answers int64
}

// Equal reports whether there is no difference.
func (r *Result) Equal() bool {
	return len(r.MissingInLedger)+len(r.MissingInAnswers)+len(r.Differing) == 0
}

// Compare compares the ledger's requests with answers. Requests in flight are left out.
func Compare(ctx context.Context, store ledger.Store, answers *Answers, scope Scope) (*Result, error) {
	ours := &Answers{By: answers.By, Figures: answers.Figures, rows: map[string]*ledger.Row{}}
	fill := ours.report
	if slices.Contains(answers.By, RequestID) {
		fill = ours.walk
	}
	if err := fill(ctx, store, scope); err != nil {
		return nil, err
	}
	result := &Result{}
	for _, key := range slices.Sorted(maps.Keys(ours.rows)) {
		mine, theirs := ours.rows[key], answers.rows[key]
		if theirs == nil {
			result.MissingInAnswers = append(result.MissingInAnswers, *mine)
			continue
		}
		before := len(result.Differing)
		for _, f := range figures {
			if slices.Contains(answers.Figures, f.name) && *f.of(mine) != *f.of(theirs) {
				result.Differing = append(result.Differing, Difference{mine.Values, f.name, *f.of(mine), *f.of(theirs)})
			}
		}
		if len(result.Differing) == before {
			result.Matched++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(answers.rows)) {
		if ours.rows[key] == nil {
			result.MissingInLedger = append(result.MissingInLedger, *answers.rows[key])
		}
	}
	return result, nil
}

// readEvery is after how many entries a scope's Read is called.
const readEvery = 1024

// walk takes single requests; several attempts with one identifier together.
func (a *Answers) walk(ctx context.Context, store ledger.Store, scope Scope) error {
	var read int64
	for e, err := range store.Entries(ctx, scope.Since) {
		if err != nil {
			return err
		}
		if read++; scope.Read != nil && read%readEvery == 0 {
			scope.Read(read)
		}
		if e.Outcome == ledger.Open || !scope.Until.IsZero() && !e.Start.Before(scope.Until) ||
			scope.Upstream != "" && e.Upstream != scope.Upstream || scope.Used && e.Usage == (ledger.Usage{}) {
			continue
		}
		a.row([]string{e.ID}).Add(ledger.Row{Requests: 1, Usage: e.Usage, Cost: e.Cost})
	}
	return nil
}

// report takes the sums of the answers' dimensions.
func (a *Answers) report(ctx context.Context, store ledger.Store, scope Scope) error {
	query := ledger.Query{Since: scope.Since, Until: scope.Until}
	for _, by := range a.By {
		query.By = append(query.By, ledger.Dimension(by))
	}
	upstream := slices.Index(query.By, ledger.ByUpstream)
	if upstream < 0 && scope.Upstream != "" {
		upstream = len(query.By)
		query.By = append(query.By, ledger.ByUpstream)
	}
	rows, err := store.Report(ctx, query)
	if err != nil {
		return err
	}
	for _, r := range rows {
		r.Requests -= r.Open
		if scope.Upstream != "" && r.Values[upstream] != scope.Upstream || cmp.Or(r.Requests, r.Cost) == 0 || scope.Used && r.Usage == (ledger.Usage{}) {
			continue
		}
		a.row(r.Values[:len(a.By)]).Add(r)
	}
	return nil
}

// RequestID is the column that identifies a request. The other columns that identify records
// are the ledger's dimensions.
const RequestID = "request_id"

// figure is a column that is compared.
type figure struct {
	name string
	of   func(*ledger.Row) *int64
}

// figures are the columns that may be compared, requests first.
var figures = func() []figure {
	all := []figure{{"requests", func(r *ledger.Row) *int64 { return &r.Requests }}}
	for _, k := range ledger.Kinds {
		all = append(all, figure{k.Name, func(r *ledger.Row) *int64 { return r.At(k) }})
	}
	return append(all, figure{"cost", func(r *ledger.Row) *int64 { return &r.Cost }})
}()

// identities are the columns that identify records.
func identities() []string {
	names := []string{RequestID}
	for _, d := range ledger.Dimensions {
		names = append(names, string(d))
	}
	return names
}

// Columns are the names others have for our columns; the sum of several where a column
// is their sum.
type Columns map[string][]string

// ParseColumn reads input_tokens=uncached+cached. The first is one of ours.
func (c Columns) ParseColumn(text string) error {
	ours, theirs, ok := strings.Cut(text, "=")
	known := identities()
	for _, f := range figures {
		known = append(known, f.name)
	}
	switch {
	case !ok || theirs == "":
		return fmt.Errorf("%q: write OURS=THEIRS, or OURS=THEIRS+THEIRS for a sum", text)
	case !slices.Contains(known, ours):
		return fmt.Errorf("%q is no column of the ledger; one of %s", ours, strings.Join(known, ", "))
	}
	c[ours] = strings.Split(theirs, "+")
	if len(c[ours]) > 1 && slices.Contains(identities(), ours) {
		return fmt.Errorf("%q: %s is no sum", text, ours)
	}
	return nil
}

// theirs are the names of one of our columns.
func (c Columns) theirs(ours string) []string {
	if names, ok := c[ours]; ok {
		return names
	}
	return []string{ours}
}

// number reads a figure; an absent one is 0. Costs are in dollars, to the nearest
// nano-dollar.
func number(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if name == "cost" {
		d, _, err := price.Scale(text, 0)
		return int64(d), err
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(text, ".0"), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no number of %s", text, name)
	}
	return n, nil
}

func dayOf(text string) (string, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC().Format(time.DateOnly), nil
	}
	day, err := price.ParseDay(text)
	return day.String(), err
}
