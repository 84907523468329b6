//go:build unix

package store_test

import (
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
			"requests":            {search(ledger.Filter{}, nil), 1},
			"their next page":     {search(ledger.Filter{}, position), 1},
			"of a key":            {search(ledger.Filter{KeyID: "key_1"}, position), 1},
			"by a model":          {search(ledger.Filter{Model: "m"}, nil), 2},
			"by everything":       {search(everything, position), 2},
			"usage":               {reports(ledger.Query{By: []ledger.Dimension{ledger.ByModel}, Since: now.AddDate(0, 0, -7), Until: now}), 2},
			"usage by hour":       {reports(ledger.Query{By: []ledger.Dimension{ledger.ByHour}, Since: now.AddDate(0, 0, -7), Until: now}), 2},
			"one request":         {func() error { _, err := s.Requests().Find(t.Context(), 1, 1); return err }, 1},
			"others of its trace": {func() error { _, err := s.Requests().Neighbours(t.Context(), "t", now, 100); return err }, 1},
			"keys": {func() error {
				_, err := s.Keys().List(t.Context(), keys.Query{Owner: "o", Group: keys.GroupChat, LiveAt: now, Limit: 100})
				return err
			}, 3},
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
