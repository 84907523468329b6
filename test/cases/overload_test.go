package cases_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func overloadCases() []Case {
	return []Case{
		{"N40", "an overloaded process refuses requests natively ahead of their bodies, with Retry-After, on a connection that stays, without a line in the log each; health is answered", shedding},
		{"N41", "a call waits for an upstream at its bound; a caller who leaves meanwhile is taken out, and the upstream is not called for it", leaversInTheQueue},
		{"N42", "what an upstream refuses while it serves others lowers how many calls it gets and does not open its circuit breaker; afterwards it gets all again", refusingUpstream},
	}
}

// exhausted is a gate that has found out that there is no memory left.
func exhausted(t *testing.T) *overload.Gate {
	t.Helper()
	shed := overload.New(overload.Config{Memory: 1, Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		shed.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	for !shed.Pressed() {
		runtime.Gosched()
	}
	return shed
}

func shedding(t *testing.T) {
	g := harness.New(t, harness.Config{Overload: exhausted(t)})
	for _, p := range harness.Texts() {
		for _, streamed := range []bool{false, true} {
			a := g.Call(harness.CallOf(p, string(p)+"/m", p.Hello(), streamed))
			want := map[bool]int{true: 529, false: http.StatusServiceUnavailable}[p == harness.Messages]
			if a.Status != want || a.Header.Get("Retry-After") == "" || a.Header.Get("Connection") == "close" || a.Header.Get("X-Request-ID") == "" {
				t.Errorf("%s: %d %v", p, a.Status, a.Header)
			}
			if !json.Valid(a.Body) || !strings.Contains(string(a.Body), "more requests than it can serve") {
				t.Errorf("%s: %s", p, a.Body)
			}
			if n := len(g.Upstream(p).Requests()); n != 0 {
				t.Errorf("%s: the upstream was asked %d times", p, n)
			}
		}
	}
	if a := g.Call(harness.Call{Method: http.MethodGet, Path: "/healthz"}); strings.Contains(string(a.Body), "more requests") || a.Header.Get("Retry-After") != "" {
		t.Errorf("health was refused: %d %s", a.Status, a.Body)
	}
	if strings.Contains(g.Log(), "msg=call") || strings.Contains(g.Log(), "path=/v1") {
		t.Errorf("the log has lines of refused requests:\n%s", g.Log())
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer internal")
	_, err := g.Core.GenerateText(ctx, &genwayv1.GenerateTextRequest{Model: "chat/m", Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER}}})
	var retry *errdetails.RetryInfo
	for _, d := range status.Convert(err).Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			retry = r
		}
	}
	if status.Code(err) != codes.Unavailable || retry.GetRetryDelay().AsDuration() < time.Second {
		t.Errorf("gRPC: %v, %v", err, retry)
	}
}

// bounded is a gateway whose model "m" goes to the chat upstream, within limits.
func bounded(t *testing.T, limits route.Limits) *harness.Gateway {
	t.Helper()
	return harness.New(t, harness.Config{Wrap: func(all upstream.Upstream) upstream.Upstream {
		return route.New([]route.Route{{Model: "m", Targets: []route.Target{{
			Name: "chat", Upstream: all, Protocol: harness.Chat.ID(), Model: "chat/m", Guard: route.NewGuard(limits),
		}}}})
	}})
}

func leaversInTheQueue(t *testing.T) {
	g := bounded(t, route.Limits{MaxConcurrent: 1})
	free := make(chan struct{})
	body := answers.Text("fine").Body(harness.Chat)
	g.Chat.Answer(fake.Answer{Header: map[string]string{"Content-Type": "application/json"}, Steps: []fake.Step{fake.Wait(free), fake.Bytes(body)}})
	first := make(chan error, 1)
	go func() {
		first <- await(t.Context(), g, harness.CallOf(harness.Chat, "m", harness.Chat.Hello(), false))
	}()
	for len(g.Chat.Requests()) == 0 {
		runtime.Gosched()
	}
	ctx, leave := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() { second <- await(ctx, g, harness.CallOf(harness.Chat, "m", harness.Chat.Hello(), false)) }()
	leave()
	<-second
	// Its place in the queue is free: after the wait others are refused, natively.
	if a := g.Post(harness.Chat, "m", harness.Chat.Hello()); a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "under way") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	close(free)
	if err := <-first; !errors.Is(err, io.EOF) { // its answer was read to the end
		t.Error(err)
	}
	if n := len(g.Chat.Requests()); n != 1 {
		t.Errorf("the upstream was asked %d times", n)
	}
}

func refusingUpstream(t *testing.T) {
	g := bounded(t, route.Limits{Retries: -1, BreakAfter: 3})
	const callers = 16
	all := make(chan struct{})
	g.Chat.Answer(slices.Repeat([]fake.Answer{{Status: http.StatusServiceUnavailable, Header: map[string]string{"Content-Type": "application/json"}, Steps: []fake.Step{
		fake.Wait(all), fake.Bytes(`{"error":{"message":"overloaded","type":"server_error"}}`),
	}}}, callers)...)
	done := make(chan error, callers)
	for range callers {
		go func() { done <- await(t.Context(), g, harness.CallOf(harness.Chat, "m", harness.Chat.Hello(), false)) }()
	}
	for len(g.Chat.Requests()) < callers {
		runtime.Gosched()
	}
	close(all)
	for range callers {
		<-done
	}
	g.Chat.Answer(slices.Repeat([]fake.Answer{answers.Text("fine").Answer(harness.Chat, false)}, 20)...)
	for range 20 {
		if a := g.Post(harness.Chat, "m", harness.Chat.Hello()); a.Status != http.StatusOK {
			t.Errorf("afterwards: %d %s", a.Status, a.Body)
		}
	}
}
