package growth_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/bench/growth"
)

// What is measured of a ledger works at each size, and is printed as a table.
func TestLedger(t *testing.T) {
	var rows []growth.Row
	for _, n := range []int64{1, 20} {
		row, err := growth.Ledger(t.Context(), t.TempDir(), n)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	var out strings.Builder
	if err := growth.Print(&out, rows); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "| rows of the ledger | 1 | 20 |\n|---|---:|---:|\n| by day, from rows, ms | ") {
		t.Errorf("%s", &out)
	}
}

// The other measurements run, and have the same figures at each size.
func TestMeasurements(t *testing.T) {
	for name, measure := range map[string]growth.Measure{"keys": growth.Keys, "routes": growth.Routes, "limits": growth.Limits} {
		var before growth.Row
		for _, n := range []int64{1, 100} {
			row, err := measure(t.Context(), t.TempDir(), n)
			if err != nil || row.N != n || len(row.Metrics) == 0 || before.Metrics != nil && len(before.Metrics) != len(row.Metrics) {
				t.Errorf("%s: %+v, %v", name, row, err)
			}
			before = row
		}
	}
}
