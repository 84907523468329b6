package growth

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/ledger/reconcile"
	"github.com/genway/genway/core/store"
)

// What the entries are of: keys, models and upstreams in turn, over so many days.
const (
	ledgerKeys   = 100
	ledgerModels = 5
	ledgerDays   = 100
)

var ledgerEnd = time.Date(2026, 6, 1, 12, 30, 0, 0, time.UTC)

// Ledger measures reports, checks and writes of a ledger of n rows, without roll-ups and with
// them.
func Ledger(ctx context.Context, dir string, n int64) (row Row, err error) {
	db, err := store.Open(ctx, store.Config{Location: filepath.Join(dir, store.FileName), RelaxLedger: true})
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	l := ledgerOf{store: db.Ledger(), row: Row{Name: "rows of the ledger", N: n}}
	if err := l.fill(ctx, n); err != nil {
		return Row{}, err
	}
	reports := func(how string) error {
		since := ledgerEnd.Add(-24 * time.Hour)
		return errors.Join(
			l.report(ctx, "by day, "+how, ledger.Query{By: []ledger.Dimension{ledger.ByDay}}),
			l.report(ctx, "by key and day, "+how, ledger.Query{By: []ledger.Dimension{ledger.ByKey, ledger.ByDay}}),
			l.report(ctx, "by key, the last 24 h, "+how, ledger.Query{By: []ledger.Dimension{ledger.ByKey}, Since: since}),
		)
	}
	return l.row, errors.Join(
		reports("from rows"),
		l.time("rolling all up, at half of a core", 1, func() error {
			_, err := ledger.RollAll(ctx, l.store, ledgerEnd)
			return err
		}),
		reports("from roll-ups"),
		l.time("ledger check", 1, func() error {
			checked, err := reconcile.Check(ctx, reconcile.Checking{Store: l.store, Now: ledgerEnd.Add(time.Hour)})
			if err == nil && (!checked.Good() || checked.Entries != n) {
				err = fmt.Errorf("the check says %+v", checked)
			}
			return err
		}),
		l.time("spent in the month, as a core starts", 3, func() error {
			_, err := l.store.Spent(ctx, ledgerEnd.AddDate(0, 0, -30), "", "")
			return err
		}),
		l.time("writing 256 rows", 5, func() error { return l.write(ctx, 256, ledgerEnd) }),
		l.time("pruning 1,000 rows", 1, func() error {
			_, err := l.store.Prune(ctx, ledgerEnd, ledger.PruneCount)
			return err
		}),
	)
}

// ledgerOf is a ledger that is measured.
type ledgerOf struct {
	store         ledger.Store
	process, last int64
	row           Row
}

func (l *ledgerOf) time(what string, times int, do func() error) error {
	took, err := timed(times, do)
	l.row.Metrics = append(l.row.Metrics, Metric{what, "ms", took})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (l *ledgerOf) report(ctx context.Context, what string, query ledger.Query) error {
	return l.time(what, 2, func() error {
		_, err := l.store.Report(ctx, query)
		return err
	})
}

// fill writes n entries in the order of their times.
func (l *ledgerOf) fill(ctx context.Context, n int64) (err error) {
	if l.process, err = l.store.Begin(ctx, ledgerEnd); err != nil {
		return err
	}
	const batch = 1000
	step := ledgerDays * 24 * time.Hour / time.Duration(n)
	for done := int64(0); done < n; done += batch {
		count := min(batch, n-done)
		if err := l.writeEach(ctx, count, ledgerEnd.Add(-time.Duration(n-done)*step), step); err != nil {
			return err
		}
	}
	return nil
}

func (l *ledgerOf) write(ctx context.Context, n int64, at time.Time) error {
	return l.writeEach(ctx, n, at, 0)
}

func (l *ledgerOf) writeEach(ctx context.Context, n int64, at time.Time, step time.Duration) error {
	entries := make([]*ledger.Entry, n)
	for i := range entries {
		l.last++
		entries[i] = &ledger.Entry{
			Number: l.last,
			Request: ledger.Request{
				ID: fmt.Sprint("req_", l.last), KeyID: fmt.Sprint("key_", l.last%ledgerKeys), Owner: fmt.Sprint("team-", l.last%ledgerKeys/10),
				Protocol: "messages", Method: "GenerateText", Model: fmt.Sprint("m", l.last/7%ledgerModels), Start: at.Add(time.Duration(i) * step),
			},
			Result: ledger.Result{
				Outcome: ledger.OK, Route: "*", Upstream: "u", Attempts: 1, Model: fmt.Sprint("m", l.last/7%ledgerModels),
				Usage: ledger.Usage{Input: 1000, Output: 10}, Cost: 450_000, Price: "gpt-4o@2026-01-01#01234567", Duration: time.Second,
			},
		}
	}
	return l.store.Write(ctx, l.process, entries)
}
