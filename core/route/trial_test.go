package route_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// broken returns a router whose only upstream has just become half-open: the next call is
// the trial.
func broken(t *testing.T, u *slow, limits route.Limits) *route.Router {
	t.Helper()
	u.err = fault.New(fault.Unavailable, "X", "down")
	r := route.New([]route.Route{{Model: "*", Targets: to(u, limits)}})
	if _, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"})); err == nil {
		t.Fatal("the first call did not fail")
	}
	u.err = nil
	time.Sleep(limits.BreakFor) //nolint:forbidigo // the bubble's own clock
	return r
}

func streamed(ctx context.Context, r *route.Router) error {
	return r.StreamGenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
}

// A trial stream closes the circuit breaker with its first content, not with its end
// (case P1).
func TestTrialStreamsEndWithTheirFirstContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &slow{stub: stub{name: "u"}, takes: 10 * time.Minute}
		r := broken(t, u, route.Limits{Retries: -1, BreakAfter: 1, BreakFor: time.Minute})
		results := make(chan error, 20)
		go func() { results <- streamed(t.Context(), r) }()
		synctest.Wait()
		for range 19 {
			go func() { results <- streamed(t.Context(), r) }()
		}
		for range 20 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
	})
}

// A heartbeat is no content: it does not end the trial.
func TestHeartbeatsAreNoVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &slow{stub: stub{name: "u"}, takes: 10 * time.Second}
		r := broken(t, u, route.Limits{Retries: -1, BreakAfter: 1, BreakFor: time.Minute})
		u.first = codec.Event(&genwayv1.Ping{})
		done := make(chan error, 1)
		go func() { done <- streamed(t.Context(), r) }()
		synctest.Wait()
		if err := streamed(t.Context(), r); fault.From(err) == nil || fault.From(err).Reason != "UPSTREAM_BROKEN" {
			t.Errorf("a second call during the trial: %v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A trial stream that fails after its content is one failure as any other.
func TestTrialStreamsThatFailLater(t *testing.T) {
	for after, reason := range map[int]string{1: "UPSTREAM_BROKEN", 2: ""} {
		synctest.Test(t, func(t *testing.T) {
			u := &slow{stub: stub{name: "u"}, takes: time.Second}
			u.err = fault.New(fault.Unavailable, "X", "down")
			r := route.New([]route.Route{{Model: "*", Targets: to(u, route.Limits{Retries: -1, BreakAfter: after, BreakFor: time.Minute})}})
			for range after {
				if err := streamed(t.Context(), r); err == nil {
					t.Fatal("it does not fail")
				}
			}
			time.Sleep(time.Minute) //nolint:forbidigo // the bubble's own clock
			u.after = true
			if err := streamed(t.Context(), r); fault.From(err).Reason != "X" {
				t.Fatal(err)
			}
			u.err = nil
			err := streamed(t.Context(), r)
			if f := fault.From(err); (f == nil) != (reason == "") || f != nil && f.Reason != reason {
				t.Errorf("break_after %d: %v", after, err)
			}
		})
	}
}

// A trial that returns no verdict does not keep the upstream from everybody: after
// break_for there is another.
func TestTrialsWithoutVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &slow{stub: stub{name: "u"}, takes: 30 * time.Minute}
		r := broken(t, u, route.Limits{Retries: -1, BreakAfter: 1, BreakFor: time.Minute})
		ask := func(ctx context.Context) error {
			_, err := r.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
			return err
		}
		hanging := make(chan error, 1)
		go func() { hanging <- ask(t.Context()) }()
		synctest.Wait()
		u.takes = time.Second
		if err := ask(t.Context()); fault.From(err) == nil || fault.From(err).Reason != "UPSTREAM_BROKEN" {
			t.Errorf("during the trial: %v", err)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's own clock
		for range 3 {
			if err := ask(t.Context()); err != nil {
				t.Errorf("break_for later: %v", err)
			}
		}
		if err := <-hanging; err != nil {
			t.Error(err)
		}
		if err := ask(t.Context()); err != nil {
			t.Errorf("after the first trial: %v", err)
		}
	})
}

// noting says that its unary answer has begun, and takes its time for the rest.
type noting struct {
	slow
	headers time.Duration
}

func (n *noting) GenerateText(ctx context.Context, req *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	select {
	case <-time.After(n.headers):
	case <-ctx.Done():
		return nil, upstream.Interrupted(ctx)
	}
	call.Of(ctx).AnswerBegins()
	return n.slow.GenerateText(ctx, req)
}

// A unary trial ends with the headers of its answer, too.
func TestUnaryTrialsEndWithTheirHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &noting{slow: slow{stub: stub{name: "u"}, takes: 30 * time.Second}}
		u.err = fault.New(fault.Unavailable, "X", "down")
		r := route.New([]route.Route{{Model: "*", Targets: to(u, route.Limits{Retries: -1, BreakAfter: 1, BreakFor: time.Minute})}})
		if err := streamed(t.Context(), r); err == nil {
			t.Fatal("it does not fail")
		}
		u.err = nil
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's own clock
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
				results <- err
			}()
			synctest.Wait()
		}
		for range 2 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
	})
}
