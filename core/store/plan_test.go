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

// Case U29: no filter of the page of requests reads the whole ledger, nor more of it than an index of the times
// bounds, on its first page and deep inside.
func TestSearchPlans(t *testing.T) {
	now := time.Now()
	filters := map[string]ledger.Filter{
		"all": {}, "period": {Since: now.Add(-time.Hour), Until: now}, "outcomes": {Outcomes: []ledger.Outcome{ledger.Failed, ledger.Interrupted}}, "open": {Outcomes: []ledger.Outcome{ledger.Open}},
		"protocol": {Protocol: "p"}, "upstream protocol": {UpstreamProtocol: "p"}, "model": {Model: "m"}, "served": {Served: "m"}, "route": {Route: "r"}, "upstream": {Upstream: "u"},
		"key": {KeyID: "k"}, "key and outcome": {KeyID: "k", Outcomes: []ledger.Outcome{ledger.Failed}}, "owner": {Owner: "o"}, "request": {RequestID: "r"}, "trace": {TraceID: "t"},
		"kind": {Kind: "k"}, "reason": {Reason: "r"}, "lost": {Lost: true}, "retried": {Retried: true}, "lost and failed": {Lost: true, Outcomes: []ledger.Outcome{ledger.Failed}},
	}
	onEach(t, func(t *testing.T, location string) {
		s, postgres := opened(t, location), store.IsPostgres(location)
		for name, filter := range filters {
			for place, after := range map[string]*ledger.Position{"first": nil, "deep": {Start: now.UnixMicro(), Process: 1, Number: 1}} {
				for i, plan := range s.SearchPlans(t, filter, after, now.Add(-time.Hour).UnixMicro(), postgres) {
					index := "ledger_start_time"
					switch {
					case filter.KeyID != "":
						index = "ledger_key_time"
					case name == "open" && strings.Contains(plan, "ledger_open"):
						index = "ledger_open" // it has few entries at any time
					}
					bounded := strings.Contains(plan, index) && !strings.Contains(plan, "Seq Scan")
					if !postgres {
						bounded = strings.Contains(plan, "SEARCH ledger USING") && strings.Contains(plan, index) && strings.Contains(plan, "start_time>? AND start_time<?")
					}
					if !bounded {
						t.Errorf("%s, %s, statement %d reads more than its index bounds:\n%s", name, place, i+1, plan)
					}
				}
			}
		}
	})
}
