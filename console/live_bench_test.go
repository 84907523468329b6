//go:build unix

package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/cpu"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// BenchmarkLive sends one viewer of the live tail what half a second has at 500 requests a second. cpu-ns/row is
// what a request costs the process.
func BenchmarkLive(b *testing.B) {
	const each = 250
	f := openScripted(b)
	resp := &adminv1.WatchRequestsResponse{KeyNames: map[string]string{"key_abcdefghijkl": "batch jobs"}}
	for n := range each {
		resp.Requests = append(resp.Requests, &adminv1.LoggedRequest{
			Id: fmt.Sprintf("12-%d", 1_000_000+n), RequestId: fmt.Sprintf("req_%d", n), KeyId: "key_abcdefghijkl", Owner: "team-a", Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS.Enum(), Method: "GenerateText", Model: "sandbox-text", StartTime: timestamppb.New(time.Unix(1_700_000_000, int64(n)*1e6)),
			Outcome: adminv1.Outcome_OUTCOME_OK, Route: "*", Upstream: "sandbox", UpstreamProtocol: genwayv1.Protocol_PROTOCOL_MESSAGES.Enum(), Attempts: 1, ServedModel: "sandbox-text", CostNanoDollars: 450_000 + int64(n), Price: "gpt-4o@2026-01-01#01234567",
			Duration: durationpb.New(1234 * time.Millisecond), FirstEvent: durationpb.New(345 * time.Millisecond), TraceId: "0af7651916cd43dd8448eb211c80319c", Usage: &adminv1.RequestUsage{InputTokens: 1000, OutputTokens: 100, CacheReadTokens: 900},
		})
	}
	ctx, leave := context.WithCancel(b.Context())
	r := request(b, f.signIn(b, f.root), http.MethodGet, "/requests/live", nil).WithContext(ctx)
	to := &pipe{httptest.NewRecorder(), make(chan string)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.ServeHTTP(to, r)
	}()
	<-to.wrote
	b.ReportAllocs()
	before := cpu.Time()
	for b.Loop() {
		f.scripted.tail <- resp
		if event := <-to.wrote; strings.Count(event, `"id":`) != each {
			b.Fatal(event)
		}
	}
	b.ReportMetric(float64(cpu.Time()-before)/float64(b.N*each), "cpu-ns/row")
	leave()
	<-done
}
