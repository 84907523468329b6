package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/store"
)

// data makes a data directory with two requests of long ago and one of now.
func data(t *testing.T, prices string) coreproc.Data {
	t.Helper()
	catalogue, err := price.Load(prices)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := catalogue.Find("", "m", time.Now())
	dir := t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(dir, store.FileName)})
	if err != nil {
		t.Fatal(err)
	}
	process, err := db.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var entries []*ledger.Entry
	for n, at := range []time.Time{time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 5, 1, 0, 0, 0, time.UTC), time.Now()} {
		u := ledger.Usage{Input: 1000, Output: int64(n)}
		entries = append(entries, &ledger.Entry{
			Number: int64(n), Request: ledger.Request{ID: "req_" + string(rune('a'+n)), Model: "m", Start: at},
			Result: ledger.Result{Outcome: ledger.OK, Usage: u, Cost: p.Cost(u), Price: p.ID},
		})
	}
	if err := errors.Join(db.Ledger().Write(t.Context(), process, entries), db.Close()); err != nil {
		t.Fatal(err)
	}
	return coreproc.Data{Dir: dir}
}

func TestLedgerCommands(t *testing.T) {
	prices := file(t, "prices.yaml", "prices: [{model: m, input: 2, output: 1000}]\n")
	in := data(t, prices)
	answers := file(t, "answers.ndjson", `{"request_id": "req_a", "output_tokens": 0, "cost": 0.002}
{"request_id": "req_b", "output_tokens": 7, "cost": 0.003}
{"request_id": "req_x\u001b", "output_tokens": 1, "cost": 0.003}
`)
	old := moment{time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}
	for _, step := range []struct {
		name string
		run  func(out *strings.Builder) error
		want string
		err  error
	}{
		{"check", func(out *strings.Builder) error {
			return (&checkLedger{Data: in, Prices: prices}).Run(t.Context(), out)
		}, ", and the sums by day of 0 pruned requests\n3 costs calculated again; 0 have a price that is not in " + prices + "\nall is well\n", nil},
		{"check with other prices", func(out *strings.Builder) error {
			return (&checkLedger{Data: in, Prices: file(t, "new.yaml", "prices: [{model: m, input: 3, output: 1000}]\n")}).Run(t.Context(), out)
		}, "0 costs calculated again; 3 have a price that is not in", nil},
		{"reconcile", func(out *strings.Builder) error {
			return (&reconcileLedger{Data: in, Limit: 20, Until: old, Answers: answers}).Run(t.Context(), out)
		}, `compared requests, output_tokens, cost by request_id: 1 match
missing in the ledger: 1
  req_x\x1b
differing figures: 1
  REQUEST_ID  FIGURE         LEDGER  ANSWERS
  req_b       output_tokens  1       7
`, errDiffer},
		{"reconcile with few lines", func(out *strings.Builder) error {
			return (&reconcileLedger{Data: in, Limit: 1, Answers: file(t, "a.csv", "request_id,output_tokens\nreq_a,1\nreq_b,2\n")}).Run(t.Context(), out)
		}, `compared requests, output_tokens by request_id: 0 match
missing in the answers: 1
  req_c
differing figures: 2
  REQUEST_ID  FIGURE         LEDGER  ANSWERS
  req_a       output_tokens  0       1
  …
`, errDiffer},
		{"prune", func(out *strings.Builder) error {
			return (&pruneLedger{Data: in, Before: old}).Run(t.Context(), out)
		}, "removed the rows of 2 requests; their sums by day stay\n", nil},
		{"check what was pruned", func(out *strings.Builder) error {
			return (&checkLedger{Data: in}).Run(t.Context(), out)
		}, ", and the sums by day of 2 pruned requests\nall is well\n", nil},
		{"usage of what was pruned", func(out *strings.Builder) error {
			return (&usageCommand{Data: in, By: []string{"day"}, Until: old, Format: "csv"}).Run(t.Context(), out)
		}, "\n2026-01-05,2,2,0,0,0,0,2000,1,0,0,0,0,0,0,0,0,0,0,0,0,0.005,0,0,0,0,0,,,\n", nil},
	} {
		t.Run(step.name, func(t *testing.T) {
			var out strings.Builder
			if err := step.run(&out); !errors.Is(err, step.err) {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), step.want) {
				t.Errorf("got\n%swant\n%s", &out, step.want)
			}
		})
	}
	for says, run := range map[string]func() error{
		"at least a day ago": func() error {
			return (&pruneLedger{Data: in, Before: moment{time.Now()}}).Run(t.Context(), &strings.Builder{})
		},
		`--column "x": write OURS=THEIRS`: func() error {
			return (&reconcileLedger{Data: in, Column: []string{"x"}, Answers: answers}).Run(t.Context(), &strings.Builder{})
		},
		"no such file": func() error {
			return (&reconcileLedger{Data: in, Answers: answers + "x"}).Run(t.Context(), &strings.Builder{})
		},
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}

// The check fails where a cost does not follow from its price.
func TestLedgerCheckFails(t *testing.T) {
	prices := file(t, "prices.yaml", "prices: [{model: m, input: 2, output: 1000}]\n")
	in := data(t, prices)
	db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(in.Dir, store.FileName)})
	if err != nil {
		t.Fatal(err)
	}
	process, err := db.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	wrong := &ledger.Entry{Number: 1, Request: ledger.Request{ID: "req_w", Start: time.Now().Add(-time.Hour)}, Result: ledger.Result{Outcome: ledger.OK, Cost: 5}}
	if err := errors.Join(db.Ledger().Write(t.Context(), process, []*ledger.Entry{wrong}), db.Close()); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := (&checkLedger{Data: in}).Run(t.Context(), &out); !errors.Is(err, errWrong) || !strings.Contains(out.String(), "it costs 5 nano-dollars by no price") {
		t.Errorf("%v: %s", err, &out)
	}
}
