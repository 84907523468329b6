package reconcile

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/genway/genway/core/ledger"
)

// Scope is which of the ledger's requests the answers are of.
type Scope struct {
	// Since and Until are as those of ledger.Query.
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

// walk takes single requests, those of several attempts by one identifier together.
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
