//go:build unix

package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// A report since a time finds its entries by the index of the times; one of everything
// reads the table as it lies.
func TestReportPlans(t *testing.T) {
	const index = "ledger_start_time"
	for name, test := range map[string]struct {
		query   ledger.Query
		indexed bool
	}{
		"everything":  {ledger.Query{By: []ledger.Dimension{ledger.ByKey}}, false},
		"since":       {ledger.Query{By: []ledger.Dimension{ledger.ByKey}, Since: time.Now()}, true},
		"until":       {ledger.Query{By: []ledger.Dimension{ledger.ByDay}, Until: time.Now()}, true},
		"in between":  {ledger.Query{Since: time.Now(), Until: time.Now().Add(time.Hour)}, true},
		"pruned only": {ledger.Query{Since: time.Now(), Pruned: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, location string) {
				s := opened(t, location)
				plan := s.ReportPlan(t, test.query, store.IsPostgres(location))
				if strings.Contains(plan, index) != test.indexed {
					t.Errorf("%s\nuses the index: %t", plan, !test.indexed)
				}
			})
		})
	}
}
