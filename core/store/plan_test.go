//go:build unix

package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// uses reports whether a plan uses an index of the ledger. PostgreSQL names the indexes of partitions by their columns.
func uses(plan, index string) bool {
	return strings.Contains(plan, index) || strings.Contains(plan, map[string]string{
		"ledger_start_time": "ledger_default_start_time_idx",
		"ledger_open":       "ledger_default_process_idx",
		"ledger_key_time":   "ledger_default_key_id_start_time_idx",
		"ledger_faults":     "ledger_default_start_time_process_number_outcome_",
	}[index])
}

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
				if uses(plan, index) != test.indexed {
					t.Errorf("%s\nuses the index: %t", plan, !test.indexed)
				}
			})
		})
	}
}

// Cases U29, O25: no filter of the page of requests reads the whole ledger, nor more of it than an index of the times
// bounds, on its first page and deep inside. What went wrong is looked for where nothing else is.
func TestSearchPlans(t *testing.T) {
	now := time.Now()
	filters := map[string]ledger.Filter{
		"all": {}, "period": {Since: now.Add(-time.Hour), Until: now}, "outcomes": {Outcomes: []ledger.Outcome{ledger.Failed, ledger.Interrupted}}, "open": {Outcomes: []ledger.Outcome{ledger.Open}},
		"protocol": {Protocol: "p"}, "upstream protocol": {UpstreamProtocol: "p"}, "model": {Model: "m"}, "served": {Served: "m"}, "route": {Route: "r"}, "upstream": {Upstream: "u"},
		"key": {KeyID: "k"}, "key and model": {KeyID: "k", Model: "m"}, "all outcomes": {Outcomes: []ledger.Outcome{ledger.OK, ledger.Failed}}, "key and retried": {KeyID: "k", Retried: true}, "key and outcome": {KeyID: "k", Outcomes: []ledger.Outcome{ledger.Failed}}, "owner": {Owner: "o"}, "request": {RequestID: "r"}, "trace": {TraceID: "t"},
		"kind": {Kind: "k"}, "reason": {Reason: "r"}, "lost": {Lost: true}, "retried": {Retried: true}, "without kind": {WithoutKind: true}, "failed without kind": {WithoutKind: true, Outcomes: []ledger.Outcome{ledger.Failed}}, "lost and failed": {Lost: true, Outcomes: []ledger.Outcome{ledger.Failed}},
	}
	onEach(t, func(t *testing.T, location string) {
		s, postgres := opened(t, location), store.IsPostgres(location)
		for name, filter := range filters {
			for place, after := range map[string]*ledger.Position{"first": nil, "deep": {Start: now.UnixMicro(), Process: 1, Number: 1}} {
				for i, plan := range s.SearchPlans(t, filter, after, now.Add(-time.Hour).UnixMicro(), postgres) {
					index := "ledger_start_time"
					faults := filter.Retried || filter.Kind != "" || filter.Reason != "" || strings.Contains(name, "failed") || name == "outcomes" || name == "key and outcome"
					switch {
					case faults:
						index = "ledger_faults"
					case filter.KeyID != "":
						index = "ledger_key_time"
					case name == "open" && uses(plan, "ledger_open"):
						index = "ledger_open" // it has few entries at any time
					}
					bounded := uses(plan, index) && !strings.Contains(plan, "Seq Scan")
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

// PostgreSQL knows how many entries a key has, and not how few of them a page may read. For a value that it knows to be
// rare it would read and sort all entries of ten million instead, so it must not see the value's column as it is.
func TestPlansOfRareValues(t *testing.T) {
	s := opened(t, migrated(t))
	for column, filter := range map[string]ledger.Filter{"model": {KeyID: "k", Model: "m"}, "owner": {KeyID: "k", Owner: "o"}, "request_id": {KeyID: "k", RequestID: "r"}} {
		plans := s.SearchPlans(t, filter, nil, 0, true)
		if plan := plans[len(plans)-1]; !strings.Contains(plan, "(("+column+" || ''::text) = ") {
			t.Errorf("the planner knows how rare a value is:\n%s", plan)
		}
	}
}

// Case V24: failures are counted by the index of what went wrong alone.
func TestFailuresPlans(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s, postgres := opened(t, location), store.IsPostgres(location)
		plan := s.FailuresPlan(t, time.Now().Add(-48*time.Hour), time.Now(), postgres)
		bounded := uses(plan, "ledger_faults") && !strings.Contains(plan, "Seq Scan")
		if !postgres {
			bounded = strings.Contains(plan, "SEARCH ledger USING COVERING INDEX ledger_faults (start_time>? AND start_time<?)")
		}
		if !bounded {
			t.Errorf("it reads more than the index bounds:\n%s", plan)
		}
	})
}

// Case O26: a key that was used long ago and often is looked for by the index of keys alone. By its statistics PostgreSQL takes it for one
// of a tenth of all entries, and would look for these among the latest, all of which are others'.
func TestPlanOfAnOldKey(t *testing.T) {
	location := migrated(t)
	s, now := opened(t, location), time.Now()
	process, err := s.Ledger().Begin(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ledger().Write(t.Context(), process, []*ledger.Entry{{Number: 1, Request: ledger.Request{KeyID: "key_old", Start: now.AddDate(0, 0, -1)}, Result: ledger.Result{Outcome: ledger.OK}}}); err != nil {
		t.Fatal(err)
	}
	db := raw(t, location)
	run(t, db, `CREATE TABLE one AS TABLE ledger`,
		`DO $$ DECLARE names text; BEGIN
			SELECT string_agg(CASE column_name WHEN 'number' THEN 'n + 1' WHEN 'start_time' THEN 'start_time + n' WHEN 'key_id' THEN 'CASE WHEN n < 2000 THEN key_id ELSE ''key_'' || n % 10 END' ELSE column_name END, ', ' ORDER BY ordinal_position)
				INTO names FROM information_schema.columns WHERE table_name = 'ledger' AND table_schema = 'public';
			EXECUTE 'INSERT INTO ledger SELECT ' || names || ' FROM one CROSS JOIN generate_series(1, 20000) AS n';
		END $$`, `ANALYZE ledger`)
	for name, filter := range map[string]ledger.Filter{"key": {KeyID: "key_old"}, "key and model": {KeyID: "key_old", Model: "m"}} {
		for place, after := range map[string]*ledger.Position{"first": nil, "deep": {Start: now.UnixMicro(), Process: 1, Number: 1}} {
			for i, plan := range s.SearchPlans(t, filter, after, 0, true) {
				if !uses(plan, "ledger_key_time") {
					t.Errorf("%s, %s, statement %d:\n%s", name, place, i+1, plan)
				}
			}
		}
		page, err := s.Requests().Search(t.Context(), filter, nil, 100)
		if want := map[string]int{"key": 100}[name]; err != nil || len(page.Entries) != want {
			t.Errorf("%s: %d entries, want %d: %v", name, len(page.Entries), want, err)
		}
	}
}
