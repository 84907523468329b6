package route_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// flaky fails its first calls, and waits in each until released.
type flaky struct {
	stub
	failures int
	kind     fault.Kind
	hold     chan struct{}
	panics   bool
}

func (f *flaky) GenerateText(ctx context.Context, req *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	if f.hold != nil {
		<-f.hold
	}
	if f.panics {
		panic("no")
	}
	resp, err := f.stub.GenerateText(ctx, req)
	if f.calls <= f.failures {
		return nil, fault.New(f.kind, "X", "no")
	}
	return resp, err
}

func (f *flaky) StreamGenerateText(ctx context.Context, req *deferred.Request, send upstream.Send) error {
	return f.stub.StreamGenerateText(ctx, req, send)
}

func guarded(f *flaky, limits route.Limits) *route.Router {
	t := route.Target{Name: "f", Upstream: f, Guard: route.NewGuard(limits)}
	return route.New([]route.Route{{Model: "*", Targets: []route.Target{t}}})
}

func TestRetries(t *testing.T) {
	for _, c := range []struct {
		kind    fault.Kind
		retries int
		calls   int
	}{
		{fault.Unavailable, 0, 2}, {fault.BadUpstream, 3, 2}, {fault.Overloaded, 1, 2},
		{fault.Unavailable, -1, 1}, {fault.InvalidRequest, 3, 1}, {fault.RateLimited, 3, 1}, {fault.Timeout, 3, 1}, {fault.Cancelled, 3, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &flaky{failures: 1, kind: c.kind}
			_, err := ask(guarded(f, route.Limits{Retries: c.retries}), 0, "m")
			if f.calls != c.calls || (c.calls == 2) != (err == nil) {
				t.Errorf("%v, %d retries: %d calls, %v", c.kind, c.retries, f.calls, err)
			}
		})
	}
	f := &flaky{stub: stub{name: "f", err: upstream.CredentialsRefused(nil)}}
	if _, err := ask(guarded(f, route.Limits{Retries: 3}), 0, "m"); f.calls != 1 || err == nil {
		t.Errorf("a refused credential: %d calls, %v", f.calls, err)
	}
}

// An operation that an upstream does not have counts neither as a failure nor against its breaker.
func TestAnOperationThatIsMissing(t *testing.T) {
	f := &flaky{failures: 10, kind: fault.NotSupported}
	r := guarded(f, route.Limits{Retries: 3, BreakAfter: 1, BreakFor: time.Minute})
	for range 10 {
		if _, err := ask(r, 0, "m"); fault.From(err).Kind != fault.NotSupported {
			t.Fatal(err)
		}
	}
	if _, err := ask(r, 0, "m"); err != nil || f.calls != 11 {
		t.Errorf("%d calls, %v", f.calls, err)
	}
}

// A stream is not tried again once the caller has seen a part of it, however often the
// upstream may be.
func TestNoRetryWithinAnAnswer(t *testing.T) {
	for _, after := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &flaky{stub: stub{name: "f", err: fault.New(fault.Unavailable, "X", "no"), after: after}}
			err := guarded(f, route.Limits{Retries: 2}).StreamGenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
			if want := map[bool]int{false: 3, true: 1}[after]; err == nil || f.calls != want {
				t.Errorf("after a part %t: %d calls, want %d; %v", after, f.calls, want, err)
			}
		})
	}
}

// When everything fails, retries add a tenth to the load, not another of it.
func TestRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{failures: 1 << 30, kind: fault.Unavailable}
		r := guarded(f, route.Limits{BreakAfter: -1})
		for range 1000 {
			if _, err := ask(r, 0, "m"); err == nil {
				t.Fatal("it answers")
			}
		}
		if f.calls < 1100 || f.calls > 1111 {
			t.Errorf("1000 requests made %d calls", f.calls)
		}
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{failures: 3, kind: fault.BadUpstream}
		r := guarded(f, route.Limits{Retries: -1, BreakAfter: 3, BreakFor: time.Minute})
		for range 3 {
			if _, err := ask(r, 0, "m"); fault.From(err).Kind != fault.BadUpstream {
				t.Fatal(err)
			}
		}
		_, err := ask(r, 0, "m")
		if got := fault.From(err); got.Reason != "UPSTREAM_BROKEN" || got.RetryAfter <= 0 || f.calls != 3 {
			t.Errorf("%+v after %d calls", got, f.calls)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's own clock
		if _, err := ask(r, 0, "m"); err != nil {
			t.Errorf("it is not tried again: %v", err)
		}
	})
}

// What the request is to blame for, and callers who went away, break nothing.
func TestBreakerIsFair(t *testing.T) {
	for _, kind := range []fault.Kind{fault.InvalidRequest, fault.NotFound, fault.RateLimited, fault.Cancelled} {
		f := &flaky{failures: 1 << 30, kind: kind}
		r := guarded(f, route.Limits{BreakAfter: 2})
		for range 10 {
			if _, err := ask(r, 0, "m"); fault.From(err).Kind != kind {
				t.Fatalf("%v: %v", kind, err)
			}
		}
	}
	left, cancel := context.WithCancel(t.Context())
	cancel()
	f := &flaky{failures: 1 << 30, kind: fault.BadUpstream}
	r := guarded(f, route.Limits{BreakAfter: 2, Retries: -1})
	for range 10 {
		if _, err := r.GenerateText(left, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"})); fault.From(err).Reason == "UPSTREAM_BROKEN" {
			t.Fatal("a caller that has left counted")
		}
	}
}

func TestConcurrencyCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{hold: make(chan struct{})}
		r := guarded(f, route.Limits{MaxConcurrent: 1})
		first := make(chan error, 1)
		go func() {
			_, err := ask(r, 0, "m")
			first <- err
		}()
		synctest.Wait()
		if _, err := ask(r, 0, "m"); fault.From(err).Reason != "UPSTREAM_BUSY" {
			t.Errorf("the second call: %v", err)
		}
		close(f.hold)
		if err := <-first; err != nil {
			t.Errorf("the first call: %v", err)
		}
		if _, err := ask(r, 0, "m"); err != nil {
			t.Errorf("after it: %v", err)
		}
	})
}

// An upstream whose trial call panics is tried again later, as after any failure.
func TestPanicsDoNotKeepTheBreakerOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{failures: 1, kind: fault.Unavailable}
		r := guarded(f, route.Limits{Retries: -1, BreakAfter: 1, BreakFor: time.Second})
		if _, err := ask(r, 0, "m"); err == nil {
			t.Fatal("the first call did not fail")
		}
		time.Sleep(2 * time.Second) //nolint:forbidigo // the bubble's own clock
		f.panics = true
		func() {
			defer func() { _ = recover() }()
			_, _ = ask(r, 0, "m")
		}()
		f.panics = false
		time.Sleep(2 * time.Second) //nolint:forbidigo // the bubble's own clock
		if _, err := ask(r, 0, "m"); err != nil {
			t.Errorf("the breaker stays open forever: %v", err)
		}
	})
}
