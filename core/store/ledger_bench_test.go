//go:build unix

package store_test

import (
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/cpu"
	"github.com/genway/genway/test/servers"
)

// BenchmarkLedger opens and settles entries from many goroutines, in each durability.
// cpu-ns/op is what a request costs the process, the writer's part included.
func BenchmarkLedger(b *testing.B) {
	for kind, fresh := range map[string]func(testing.TB) string{
		"SQLite":     newFile,
		"PostgreSQL": servers.NewPostgres(b, "fsync=on", "full_page_writes=on").Database,
	} {
		for _, mode := range []struct {
			name          string
			relaxed, wait bool
		}{{"off", true, false}, {"batch", false, false}, {"each", false, true}} {
			b.Run(kind+"/"+mode.name, func(b *testing.B) {
				s, err := store.Open(b.Context(), store.Config{Location: fresh(b), RelaxLedger: mode.relaxed})
				if err != nil {
					b.Fatal(err)
				}
				r, err := ledger.Start(b.Context(), ledger.Config{Store: s.Ledger(), Wait: mode.wait, MaxWait: time.Minute, Journal: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.SetParallelism(32)
				before := cpu.Time()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						record, err := r.Open(b.Context(), ledger.Request{ID: "req_abcdefghijklmnopqrstuvwxyz", KeyID: "key_abcdefghijkl", Owner: "team-a",
							Protocol: "chat_completions", Method: "GenerateText", Model: "sandbox-text", Start: time.Now()})
						if err != nil {
							b.Error(err)
							return
						}
						record.Settle(ledger.Result{Outcome: ledger.OK, Route: "*", Upstream: "sandbox", Attempts: 1, Model: "sandbox-text",
							Usage: ledger.Usage{Input: 1000, Output: 100}, Cost: 450_000, Price: "gpt-4o@2026-01-01#01234567", Duration: time.Second})
					}
				})
				if err := r.Close(); err != nil {
					b.Error(err)
				}
				b.StopTimer()
				b.ReportMetric(float64(cpu.Time()-before)/float64(b.N), "cpu-ns/op")
				if err := s.Close(); err != nil {
					b.Error(err)
				}
			})
		}
	}
}
