package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/genway/genway/core/demo"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/ledger/reconcile"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

func TestMain(m *testing.M) { os.Exit(servers.Main{M: m}.Run()) }

// Case O26: a ledger that was filled by copies passes the checks of one that cores have written, on both stores: its rows, its
// sums and what was spent. All its hours but the last have sums, and its pages and its pruning can be measured.
func TestFill(t *testing.T) {
	now := time.Now().Truncate(time.Hour)
	catalogue, err := price.Parse(demo.PricesName, []byte(demo.Prices))
	if err != nil {
		t.Fatal(err)
	}
	for kind, location := range map[string]string{"SQLite": filepath.Join(t.TempDir(), store.FileName), "PostgreSQL": servers.PostgresDatabase(t)} {
		const made, copies = 700, 3
		if err := fill(t.Context(), location, made, copies, now); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		db, err := store.Open(t.Context(), store.Config{Location: location})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		checked, err := reconcile.Check(t.Context(), reconcile.Checking{Store: db.Ledger(), Prices: catalogue, Now: now})
		if err != nil || !checked.Good() || checked.Entries != made*copies || checked.Unknown > 0 || checked.Hours < (week-1)*24 {
			t.Errorf("%s: %+v, %v", kind, checked, err)
		}
		// The index of what went wrong has all of it.
		page, err := db.Requests().Search(t.Context(), ledger.Filter{Outcomes: []ledger.Outcome{ledger.Failed}}, nil, made*copies)
		report, err2 := db.Ledger().Report(t.Context(), ledger.Query{})
		if err != nil || err2 != nil || len(report) != 1 || int64(len(page.Entries)) != report[0].Failed || report[0].Failed == 0 {
			t.Errorf("%s: %d failed requests, %+v: %v, %v", kind, len(page.Entries), report, err, err2)
		}
		figures, err := Measure(t.Context(), location, 1, now)
		if err != nil || len(figures) < 50 {
			t.Errorf("%s: %d figures, %v", kind, len(figures), err)
		}
		listed := map[string]int{}
		for _, f := range figures {
			listed[f.Page] = f.Rows
			if f.Aim == 0 || f.P95 < f.P50 || f.Max < f.P95 {
				t.Errorf("%s: %+v", kind, f)
			}
		}
		if listed["all, first"] != size || listed["usage by day"] < week || listed["key, a rare one, first"] != 0 {
			t.Errorf("%s: %v", kind, listed)
		}
		pruned, err := Prune(t.Context(), location, 1, 20, now)
		if err != nil || pruned.Rows < 1 || pruned.Written < 1 {
			t.Errorf("%s: %s, %v", kind, fmt.Sprintf("%+v", pruned), err)
		}
	}
}
