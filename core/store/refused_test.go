//go:build unix

package store_test

import (
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// A database that refuses a row says so in a way that the recorder understands: the others
// are written, as it goes on and once it has been opened again.
func TestRefusedRowsAreSetAside(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s := opened(t, location)
		db := raw(t, location)
		if store.IsPostgres(location) {
			run(t, db, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`,
				`CREATE TRIGGER refuse BEFORE INSERT ON ledger FOR EACH ROW WHEN (NEW.model = 'bad') EXECUTE FUNCTION refuse()`)
		} else {
			run(t, db, `CREATE TRIGGER refuse BEFORE INSERT ON ledger WHEN NEW.model = 'bad' BEGIN SELECT RAISE(ABORT, 'refused'); END`)
		}
		process, err := s.Ledger().Begin(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		bad := &ledger.Entry{Number: 1, Request: ledger.Request{Model: "bad"}, Result: ledger.Result{Outcome: ledger.OK}}
		if err := s.Ledger().Write(t.Context(), process, []*ledger.Entry{bad}); !errors.Is(err, ledger.ErrRefused) {
			t.Errorf("%v is not ErrRefused", err)
		}
		aside := 0
		r, err := ledger.Start(t.Context(), ledger.Config{Store: s.Ledger(), OnAside: func() { aside++ }})
		if err != nil {
			t.Fatal(err)
		}
		const rows = 200
		for n := range rows {
			model := []string{"good", "bad"}[n%20/19]
			record, err := r.Open(t.Context(), ledger.Request{ID: strconv.Itoa(n), Model: model, Start: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			record.Settle(ledger.Result{Outcome: ledger.OK, Cost: math.MaxInt64, Usage: ledger.Usage{Input: math.MaxInt64, Output: math.MinInt64}})
		}
		if err := r.Close(); err == nil {
			t.Error("the end does not say that rows are lost")
		}
		report, err := s.Ledger().Report(t.Context(), ledger.Query{})
		if err != nil || len(report) != 1 || report[0].OK != rows-rows/20 || aside != rows/20 {
			t.Errorf("%+v, %d are set aside, %v", report, aside, err)
		}
	})
}
