//go:build unix

package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/test/cpu"
)

// BenchmarkTail reads what half a second has written at 500 requests a second. cpu-ns/row is what a request
// costs the process of the viewer.
func BenchmarkTail(b *testing.B) {
	const each = 250
	for kind, fresh := range kinds {
		b.Run(kind, func(b *testing.B) {
			s := opened(b, fresh(b))
			process, err := s.Ledger().Begin(b.Context(), time.Now())
			if err != nil {
				b.Fatal(err)
			}
			cursor, last := &ledger.Cursor{}, int64(0)
			write := func() {
				entries := make([]*ledger.Entry, each)
				for i := range entries {
					last++
					entries[i] = &ledger.Entry{Number: last, Request: ledger.Request{ID: fmt.Sprint("req_", last), KeyID: "key_abcdefghijkl", Owner: "team-a", Protocol: "chat_completions", Method: "GenerateText", Model: "sandbox-text", Start: time.Now(), TraceID: "0af7651916cd43dd8448eb211c80319c"},
						Result: ledger.Result{Outcome: ledger.OK, Route: "*", Upstream: "sandbox", Attempts: 1, Model: "sandbox-text", Usage: ledger.Usage{Input: 1000, Output: 100}, Cost: 450_000, Price: "gpt-4o@2026-01-01#01234567", Duration: time.Second, Timeline: "1;0,1,2,3,4"}}
				}
				if err := s.Ledger().Write(b.Context(), process, entries); err != nil {
					b.Fatal(err)
				}
			}
			write()
			if _, _, err := s.Requests().Tail(b.Context(), cursor); err != nil {
				b.Fatal(err)
			}
			spent := int64(0)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				write()
				before := cpu.Time()
				b.StartTimer()
				ended, _, err := s.Requests().Tail(b.Context(), cursor)
				b.StopTimer()
				spent += int64(cpu.Time() - before)
				if err != nil || len(ended) != each {
					b.Fatal(len(ended), err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(spent)/float64(b.N*each), "cpu-ns/row")
		})
	}
}
