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

// hanging returns nothing, ever.
type hanging struct{ stub }

func (h *hanging) GenerateText(ctx context.Context, _ *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	h.called(ctx, nil)
	<-ctx.Done()
	return nil, upstream.Interrupted(ctx)
}

func (h *hanging) StreamGenerateText(ctx context.Context, _ *deferred.Request, _ upstream.Send) error {
	h.called(ctx, nil)
	<-ctx.Done()
	return upstream.Interrupted(ctx)
}

func askBoth(ctx context.Context, r *route.Router, streams bool) error {
	if streams {
		return streamed(ctx, r)
	}
	_, err := r.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
	return err
}

// An upstream that hangs gets its share of the route's deadline and no more: the fallback
// is called with the rest, and the upstream counts as failing (case P2).
func TestDeadlinesAreShared(t *testing.T) {
	for _, streams := range []bool{false, true} {
		for _, drain := range []time.Duration{0, time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				first, second, ready := &hanging{}, &hanging{}, &slow{stub: stub{name: "ready"}, takes: 100 * time.Millisecond}
				limits := route.Limits{BreakAfter: 3, BreakFor: time.Hour, DrainFor: drain}
				r := route.New([]route.Route{{
					Model: "*", Deadline: 3 * time.Second,
					Targets: to(first, limits), Fallback: append(to(second, limits), to(ready, limits)...),
				}})
				for n := range 5 {
					begun := time.Now()
					if err := askBoth(t.Context(), r, streams); err != nil {
						t.Errorf("streamed %v, call %d: %v", streams, n, err)
					}
					want := 2100 * time.Millisecond // a third each
					if n >= 3 {
						want = 100 * time.Millisecond // both breakers are open
					}
					if took := time.Since(begun); took != want {
						t.Errorf("streamed %v, call %d took %v, want %v", streams, n, took, want)
					}
				}
				if first.calls != 3 || second.calls != 3 {
					t.Errorf("streamed %v: the hanging upstreams were called %d and %d times", streams, first.calls, second.calls)
				}
			})
		}
	}
}

// The last target, or the only one, has all the time that is left, and counts as failing
// when it returns nothing in it.
func TestHangingUpstreamsBreak(t *testing.T) {
	for _, streams := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			u := &hanging{}
			r := route.New([]route.Route{{Model: "*", Deadline: time.Second, Targets: to(u, route.Limits{BreakAfter: 3, BreakFor: time.Hour})}})
			for n := range 6 {
				begun := time.Now()
				f := fault.From(askBoth(t.Context(), r, streams))
				switch took := time.Since(begun); {
				case n < 3 && (f.Kind != fault.Timeout || took != time.Second):
					t.Errorf("streamed %v, call %d: %v after %v", streams, n, f, took)
				case n >= 3 && f.Reason != "UPSTREAM_BROKEN":
					t.Errorf("streamed %v, call %d: %v", streams, n, f)
				}
			}
			if u.calls != 3 {
				t.Errorf("streamed %v: %d calls", streams, u.calls)
			}
		})
	}
}

// The time of callers is theirs: an upstream that is slower than a caller will wait is
// not failing.
func TestCallersDeadlinesBreakNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &hanging{}
		r := route.New([]route.Route{{Model: "*", Deadline: time.Minute, Targets: to(u, route.Limits{BreakAfter: 1, BreakFor: time.Hour})}})
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if f := fault.From(askBoth(ctx, r, false)); f.Kind != fault.Timeout {
				t.Error(f)
			}
			cancel()
		}
		if u.calls != 5 {
			t.Errorf("%d calls", u.calls)
		}
	})
}

// An answer that has begun in its share goes on in the time of all, and its upstream,
// which works, is not failing when that ends a long stream.
func TestSharesAreForBeginnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long, other := &slow{stub: stub{name: "long"}, takes: 5 * time.Second}, &slow{stub: stub{name: "other"}}
		limits := route.Limits{BreakAfter: 1, BreakFor: time.Hour}
		r := route.New([]route.Route{{Model: "*", Deadline: 6 * time.Second, Targets: to(long, limits), Fallback: to(other, limits)}})
		if err := streamed(t.Context(), r); err != nil || other.calls != 0 {
			t.Errorf("%v, %d calls of the fallback", err, other.calls)
		}
		long.takes = time.Minute
		for range 3 {
			begun := time.Now()
			if f := fault.From(streamed(t.Context(), r)); f == nil || f.Kind != fault.Timeout || time.Since(begun) != 6*time.Second {
				t.Errorf("%v after %v", f, time.Since(begun))
			}
		}
		if long.calls != 4 || other.calls != 0 {
			t.Errorf("%d calls, %d of the fallback", long.calls, other.calls)
		}
	})
}

// A unary answer whose headers came in time has begun, and no other upstream is asked;
// one that is not there by the deadline has failed.
func TestUnaryAnswersThatBeganInTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, other := &noting{slow: slow{stub: stub{name: "u"}, takes: 4 * time.Second}, headers: time.Second}, &slow{stub: stub{name: "other"}}
		limits := route.Limits{BreakAfter: 1, BreakFor: time.Hour}
		r := route.New([]route.Route{{Model: "*", Deadline: 6 * time.Second, Targets: to(u, limits), Fallback: to(other, limits)}})
		if err := askBoth(t.Context(), r, false); err != nil || other.calls != 0 {
			t.Errorf("%v, %d calls of the fallback", err, other.calls)
		}
		u.takes = time.Minute
		if f := fault.From(askBoth(t.Context(), r, false)); f == nil || f.Kind != fault.Timeout || other.calls != 0 {
			t.Errorf("%v, %d calls of the fallback", f, other.calls)
		}
		if err := askBoth(t.Context(), r, false); err != nil || other.calls != 1 || u.calls != 2 {
			t.Errorf("%v, %d calls, %d of the fallback", err, u.calls, other.calls)
		}
	})
}
