//go:build unix

package store_test

import (
	"fmt"
	"strconv"
	"strings"
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

// BenchmarkWrite writes batches as a recorder does: each has the requests that ended within it, the ends of those that
// were open, and some that are open. cpu-ns/request is what a request costs the process; of PostgreSQL the server's part is not in it.
func BenchmarkWrite(b *testing.B) {
	for kind, fresh := range map[string]func(testing.TB) string{
		"SQLite":     newFile,
		"PostgreSQL": servers.NewPostgres(b, "fsync=on", "full_page_writes=on").Database,
	} {
		for _, size := range []int{10, 160} {
			b.Run(kind+"/"+strconv.Itoa(size), func(b *testing.B) {
				s, err := store.Open(b.Context(), store.Config{Location: fresh(b)})
				if err != nil {
					b.Fatal(err)
				}
				process, err := s.Ledger().Begin(b.Context(), time.Now())
				if err != nil {
					b.Fatal(err)
				}
				var batches [][]*ledger.Entry
				var left []*ledger.Entry
				for n := 0; n < b.N; n += size {
					batch := left
					left = nil
					for i := range size {
						e := benchEntry(int64(n + i))
						if i%6 == 5 { // it outlives the batch
							left = append(left, e)
							e = &ledger.Entry{Number: e.Number, Request: e.Request, Result: ledger.Result{Outcome: ledger.Open}}
						}
						batch = append(batch, e)
					}
					batches = append(batches, batch)
				}
				b.ReportAllocs()
				before := cpu.Time()
				b.ResetTimer()
				for _, batch := range batches {
					if err := s.Ledger().Write(b.Context(), process, batch); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				b.ReportMetric(float64(cpu.Time()-before)/float64(len(batches)*size), "cpu-ns/request")
				if err := s.Close(); err != nil {
					b.Error(err)
				}
			})
		}
	}
}

// benchEntry is a request that has ended, with what requests have in common and what they have not.
func benchEntry(n int64) *ledger.Entry {
	return &ledger.Entry{Number: n,
		Request: ledger.Request{
			ID: fmt.Sprintf("req_abcdefghijklmnopq%09d", n), KeyID: "key_abcdefghij" + strconv.FormatInt(n*7%20, 10), Owner: "team-" + strconv.FormatInt(n*7%5, 10),
			Protocol: "chat_completions", Method: "GenerateText", Model: "sandbox-text", Start: time.UnixMicro(1_772_000_000_000_000 + n*125), TraceID: fmt.Sprintf("%032x", n*1e9),
		},
		Result: ledger.Result{
			Outcome: ledger.OK, Route: "*", Upstream: "sandbox", Attempts: 1, Model: "sandbox-text", UpstreamProtocol: "chat_completions",
			Usage: ledger.Usage{Input: 1000 + n%97, Output: 100 + n%31}, Cost: 450_000 + n%97, Price: "gpt-4o@2026-01-01#01234567", Duration: time.Duration(1000+n%700) * time.Microsecond,
			Timeline: strings.Repeat("\x01\x10a", 16),
		},
	}
}
