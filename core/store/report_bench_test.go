//go:build unix

package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
)

// hundredThousand are the entries of ten days, of ten keys and five models.
func hundredThousand(b *testing.B, location string) ledger.Store {
	b.Helper()
	s := opened(b, location).Ledger()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	process, err := s.Begin(b.Context(), start)
	if err != nil {
		b.Fatal(err)
	}
	for batch := range int64(100) {
		var entries []*ledger.Entry
		for i := range int64(1000) {
			n := 1000*batch + i
			entries = append(entries, &ledger.Entry{
				Number:  n,
				Request: ledger.Request{ID: fmt.Sprint("req_", n), KeyID: fmt.Sprint("key_", n%10), Protocol: "messages", Method: "GenerateText", Model: fmt.Sprint("m", n%5), Start: start.Add(time.Duration(n) * 8640 * time.Millisecond)},
				Result:  ledger.Result{Outcome: ledger.OK, Upstream: "u", Model: "m", Usage: ledger.Usage{Input: 1000, Output: 10}, Cost: 450_000, Price: "gpt-4o@2026-01-01#01234567"},
			})
		}
		if err := s.Write(b.Context(), process, entries); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkReport reads and prunes a ledger of 100,000 requests.
func BenchmarkReport(b *testing.B) {
	for kind, fresh := range kinds {
		s := hundredThousand(b, fresh(b))
		b.Run(kind+"/by key and model", func(b *testing.B) {
			for b.Loop() {
				if rows, err := s.Report(b.Context(), ledger.Query{By: []ledger.Dimension{ledger.ByKey, ledger.ByModel}}); err != nil || len(rows) != 10 {
					b.Fatal(len(rows), err)
				}
			}
		})
		b.Run(kind+"/spent", func(b *testing.B) {
			for b.Loop() {
				if spent, err := s.Spent(b.Context(), time.Time{}, "", ""); err != nil || len(spent) != 10 {
					b.Fatal(spent, err)
				}
			}
		})
		b.Run(kind+"/prune a thousand", func(b *testing.B) {
			for range b.N {
				if _, err := s.Prune(b.Context(), time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), ledger.PruneCount); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
