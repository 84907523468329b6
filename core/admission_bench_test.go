//go:build unix

package core_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/genway/genway/core"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/store"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/test/cpu"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// instant answers at once.
type instant struct{ scripted }

func (*instant) GenerateText(ctx context.Context, _ *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	call.Of(ctx).Upstream = "u"
	return &genwayv1.GenerateTextResponse{Id: "gen_1", Model: "m", Usage: &genwayv1.Usage{InputTokens: 10, OutputTokens: 20}}, nil
}

// heeded is a call's transport, which records the headers of the answer.
type heeded struct{ grpc.ServerTransportStream }

func (heeded) SetHeader(metadata.MD) error { return nil }

// everyLimit has one of each.
var everyLimit = limit.Limits{RequestsPerMinute: limit.MaxFigure, TokensPerMinute: limit.MaxFigure, Concurrent: 1000, Budgets: []limit.Budget{
	{Amount: 9_000_000 * limit.Dollar, Period: limit.Day}, {Amount: 9_000_000 * limit.Dollar, Period: limit.Month}}}

// BenchmarkAdmission is all that the core does for a request but to answer it: admission
// by every limit there is, of the key, its owner and the model, its price, its row in
// SQLite in the default durability, and both settlements. cpu-ns/op is what a request
// costs the process.
func BenchmarkAdmission(b *testing.B) {
	everything := limit.Rules{
		Owners: []limit.Rule{{Pattern: "*", Limits: everyLimit}},
		Models: []limit.Rule{{Pattern: "*", Limits: limit.Limits{RequestsPerMinute: limit.MaxFigure, Concurrent: 1000}}},
	}
	for _, c := range []struct {
		name    string
		limiter *limit.Limiter
		policy  keys.Policy
	}{
		{"no limiter", nil, keys.Policy{}},
		{"no limits", limit.New(limit.NewMemory(nil), limit.Rules{}), keys.Policy{}},
		{"every limit", limit.New(limit.NewMemory(nil), everything), keys.Policy{Limits: everyLimit}},
	} {
		b.Run(c.name, func(b *testing.B) {
			db, err := store.Open(b.Context(), store.Config{Location: filepath.Join(b.TempDir(), store.FileName)})
			if err != nil {
				b.Fatal(err)
			}
			recorder, err := ledger.Start(b.Context(), ledger.Config{Store: db.Ledger(), MaxWait: time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			service, err := core.New(core.Config{Upstream: &instant{}, Ledger: recorder, Limiter: c.limiter, Prices: pricedModels{"m": perToken}})
			if err != nil {
				b.Fatal(err)
			}
			ctx := grpc.NewContextWithServerTransportStream(b.Context(), heeded{})
			caller := call.Caller{Principal: keys.Principal{KeyID: "key_abcdefghijkl", Owner: "team", Group: keys.GroupChat, Policy: &c.policy}}
			b.ReportAllocs()
			b.SetParallelism(32)
			before := cpu.Time()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := service.GenerateText(call.With(ctx, &call.Record{Start: time.Now(), Caller: caller}), request()); err != nil {
						b.Error(err)
						return
					}
				}
			})
			if err := recorder.Close(); err != nil {
				b.Error(err)
			}
			b.StopTimer()
			b.ReportMetric(float64(cpu.Time()-before)/float64(b.N), "cpu-ns/op")
			if err := db.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}
