//go:build unix

package store_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
)

// What a page of the console asks for takes three statements at most, whatever it is filtered by: of a list, of
// one request with its neighbours, and of each report.
func TestStatementsOfPages(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s, statements := opened(t, location).Counted()
		now := time.Now()
		position := &ledger.Position{Start: now.UnixMicro(), Process: 1, Number: 1}
		everything := ledger.Filter{
			Since: now.Add(-time.Hour), Until: now, KeyID: "key_1", Owner: "o", Protocol: "p", UpstreamProtocol: "p", Model: "m", Served: "m", Route: "r", Upstream: "u",
			RequestID: "r", TraceID: "t", Kind: "k", Reason: "r", Outcomes: []ledger.Outcome{ledger.OK, ledger.Failed}, Lost: true, Retried: true,
		}
		search := func(filter ledger.Filter, after *ledger.Position) func() error {
			return func() error {
				_, err := s.Requests().Search(t.Context(), filter, after, 100)
				return err
			}
		}
		reports := func(query ledger.Query) func() error {
			return func() error {
				_, err := s.Ledger().Report(t.Context(), query)
				return err
			}
		}
		for name, page := range map[string]struct {
			ask func() error
			at  int64
		}{
			"requests":             {search(ledger.Filter{}, nil), 1},
			"their next page":      {search(ledger.Filter{}, position), 1},
			"of a key":             {search(ledger.Filter{KeyID: "key_1"}, position), 2},
			"by a model":           {search(ledger.Filter{Model: "m"}, nil), 2},
			"by everything":        {search(everything, position), 2},
			"failed ones of a key": {search(ledger.Filter{KeyID: "key_1", Outcomes: []ledger.Outcome{ledger.Failed}}, position), 2},
			"usage":                {reports(ledger.Query{By: []ledger.Dimension{ledger.ByModel}, Since: now.AddDate(0, 0, -7), Until: now}), 3},
			"usage by hour":        {reports(ledger.Query{By: []ledger.Dimension{ledger.ByHour}, Since: now.AddDate(0, 0, -7), Until: now}), 3},
			"failures":             {func() error { _, err := s.Requests().Failures(t.Context(), now.AddDate(0, 0, -1), now); return err }, 1},
			"one request":          {func() error { _, err := s.Requests().Find(t.Context(), 1, 1); return err }, 1},
			"others of its trace":  {func() error { _, err := s.Requests().Neighbours(t.Context(), "t", now, 100); return err }, 1},
			"keys": {func() error {
				_, err := s.Keys().List(t.Context(), keys.Query{Owner: "o", Group: keys.GroupChat, LiveAt: now, Limit: 100})
				return err
			}, 3},
			"the names of the keys of a page": {func() error { _, err := s.KeyNames(t.Context(), make([]string, 100)); return err }, 1},
			"the newest of the audit": {func() error {
				for _, err := range s.Audit().Entries(t.Context(), audit.Query{Subject: "key_1", Newest: true, Before: 1000}) {
					return err
				}
				return nil
			}, 1},
			"the audit": {func() error {
				for _, err := range s.Audit().Entries(t.Context(), audit.Query{Subject: "key_1"}) {
					return err
				}
				return nil
			}, 1},
		} {
			before := statements.Load()
			if err := page.ask(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n := statements.Load() - before; n > page.at || n == 0 {
				t.Errorf("%s: %d statements, at most %d are good", name, n, page.at)
			}
		}
	})
}

// SQLite uses the first of several bounds of a column alone, so a statement that has two reads the whole ledger:
// a search has one bound on each side, whatever it is asked for.
func TestBoundsOfSearches(t *testing.T) {
	onEach(t, func(t *testing.T, location string) {
		s, statements := opened(t, location).Written()
		now := time.Now()
		for _, filter := range []ledger.Filter{{}, {Model: "m"}, {KeyID: "k"}, {KeyID: "k", Model: "m", Since: now.Add(-time.Hour), Until: now}} {
			for _, after := range []*ledger.Position{nil, {Start: now.UnixMicro(), Process: 1, Number: 1}, {Start: 1<<63 - 1}, {Start: -1 << 63}} {
				if _, err := s.Requests().Search(t.Context(), filter, after, 100); err != nil {
					t.Error(err)
				}
			}
		}
		if _, err := s.Requests().Neighbours(t.Context(), "t", now, 100); err != nil {
			t.Error(err)
		}
		for _, statement := range *statements {
			outer := regexp.MustCompile(`\([^()]*\)`).ReplaceAllString(statement, "") // of a tie, and of a statement within
			for strings.Contains(outer, "(SELECT") {
				outer = regexp.MustCompile(`\([^()]*\)`).ReplaceAllString(outer, "")
			}
			if lower, upper := strings.Count(outer, "start_time >"), strings.Count(outer, "start_time <"); lower > 1 || upper > 1 {
				t.Errorf("%d lower and %d upper bounds: %s", lower, upper, statement)
			}
		}
		if len(*statements) == 0 {
			t.Error("no statement was seen")
		}
	})
}
