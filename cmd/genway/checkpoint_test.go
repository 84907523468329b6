package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger/reconcile"
)

// An interrupted check resumes from its checkpoint. It does not read the days again that it has
// checked, and reports their errors at the end. A checkpoint of another ledger is refused. A
// finished check removes its checkpoint.
func TestCheckGoesOnFromItsCheckpoint(t *testing.T) {
	prices := file(t, "prices.yaml", "prices: [{model: m, input: 2, output: 1000}]\n")
	in := data(t, prices)
	path := filepath.Join(t.TempDir(), "checkpoint")
	location, err := in.Location()
	if err != nil {
		t.Fatal(err)
	}
	point, err := newCheckpoint(path, location, prices)
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)
	had := &reconcile.Checked{First: day.AddDate(0, 0, -1), Next: day, Until: time.Now().UTC(), Entries: 700, Wrong: []string{"request req_q: it is odd"}}
	if err := point.write(had); err != nil {
		t.Fatal(err)
	}
	check := func(ctx context.Context, prices string) (string, error) {
		var out strings.Builder
		err := (&checkLedger{Data: in, Prices: prices, Checkpoint: path}).Run(ctx, &out)
		return out.String(), err
	}
	if _, err := check(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "of another store or with other prices") {
		t.Errorf("without the prices: %v", err)
	}
	// One that is broken off again leaves it.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := check(ended, prices); !errors.Is(err, context.Canceled) {
		t.Errorf("broken off: %v", err)
	}
	if got, err := point.read(); err != nil || got.Entries != 700 {
		t.Errorf("%+v, %v", got, err)
	}
	out, err := check(t.Context(), prices)
	if !errors.Is(err, errWrong) || !strings.HasPrefix(out, "701 requests that began before ") || !strings.Contains(out, "it is odd") {
		t.Errorf("%s, %v", out, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if out, err := check(t.Context(), prices); err != nil || !strings.HasPrefix(out, "3 requests") {
		t.Errorf("%s, %v", out, err)
	}
	for _, text := range []string{"", "{}", `{"found": 7}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := check(t.Context(), prices); err == nil || !strings.Contains(err.Error(), "is no checkpoint of a check") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A checkpoint that cannot be written fails the check before it begins, and nothing is left
// behind of trying.
func TestCheckpointsThatCannotBeWritten(t *testing.T) {
	in, dir := data(t, file(t, "prices.yaml", "prices: [{model: m, input: 2, output: 1000}]\n")), t.TempDir()
	for path, says := range map[string]string{
		filepath.Join(dir, "none", "x"): "no such file or directory",
		file(t, "a.file", "x") + "/x":   "not a directory",
		dir:                             "is no regular file",
		filepath.Join(dir, strings.Repeat("x", 256)): "file name too long",
	} {
		var out strings.Builder
		err := (&checkLedger{Data: in, Checkpoint: path}).Run(t.Context(), &out)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "--checkpoint: ") || out.Len() > 0 {
			t.Errorf("%s: %v, %s", path, err, out.String())
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A checkpoint that cannot be put in its place leaves no part of it beside it.
func TestCheckpointLeavesNoPart(t *testing.T) {
	dir := t.TempDir()
	point, err := newCheckpoint(filepath.Join(dir, "checkpoint"), "genway.db", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(point.path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := point.write(&reconcile.Checked{Entries: 1}); err == nil {
		t.Error("it was written")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left are %v, %v", entries, err)
	}
}
