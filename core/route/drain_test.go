package route_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/route"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// drained is what became of a call whose caller left.
type drained struct {
	err    error
	took   time.Duration
	record *call.Record
	usage  *genwayv1.Usage
	sends  int
}

// leave makes a call whose caller leaves after a while; 0 is at once.
func leave(t *testing.T, u *slow, limits route.Limits, after time.Duration, streamed bool) (d drained) {
	t.Helper()
	d.record = &call.Record{}
	r := route.New([]route.Route{{Model: "*", Targets: to(u, limits)}})
	ctx, cancel := context.WithCancel(call.With(t.Context(), d.record))
	time.AfterFunc(after, cancel)
	begun := time.Now()
	if streamed {
		d.err = r.StreamGenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}), func(ev *genwayv1.StreamGenerateTextResponse) error {
			d.sends++
			if done := ev.GetCompleted(); done != nil {
				d.usage = done.GetUsage()
			}
			if ctx.Err() != nil {
				return status.Error(codes.Canceled, "the transport says so")
			}
			return nil
		})
	} else {
		var resp *genwayv1.GenerateTextResponse
		resp, d.err = r.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
		d.usage = resp.GetUsage()
	}
	d.took = time.Since(begun)
	return d
}

// A call whose caller leaves is read to its end where the operator says so, within
// bounds, and records that its caller had disconnected (case K6).
func TestDrain(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		for _, c := range []struct {
			name               string
			takes, after, most time.Duration
			took               time.Duration
			used, left         bool
		}{
			{"cancelled", 10 * time.Second, time.Second, 0, time.Second, false, false},
			{"drained", 10 * time.Second, time.Second, 30 * time.Second, 10 * time.Second, true, true},
			{"bounded", time.Hour, time.Second, 30 * time.Second, 31 * time.Second, false, true},
			{"stayed", 10 * time.Second, 11 * time.Second, 30 * time.Second, 10 * time.Second, true, false},
		} {
			synctest.Test(t, func(t *testing.T) {
				u := &slow{takes: c.takes}
				d := leave(t, u, route.Limits{DrainFor: c.most}, c.after, streamed)
				if d.took != c.took || (d.usage != nil) != c.used || d.record.CallerLeft != c.left || u.calls != 1 {
					t.Errorf("%s, streamed %t: %+v, %d calls", c.name, streamed, d, u.calls)
				}
				if (d.err == nil) != c.used || d.err != nil && fault.From(d.err).Kind != fault.Cancelled {
					t.Errorf("%s, streamed %t: %v", c.name, streamed, d.err)
				}
			})
		}
	}
}

// A failure of a detached call is not retried and does not count for the breaker.
func TestDrainOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &slow{takes: time.Hour}
		d := leave(t, u, route.Limits{DrainFor: time.Minute, Deadline: 10 * time.Second, Retries: 3, BreakAfter: 1}, time.Second, false)
		if fault.From(d.err).Kind != fault.Cancelled || d.took != 10*time.Second || u.calls != 1 {
			t.Errorf("%+v, %d calls", d, u.calls)
		}
	})
}

// A caller whose deadline passes has not left: the call is over.
func TestDeadlinesAreNotDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := route.New([]route.Route{{Model: "*", Targets: to(&slow{takes: time.Hour}, route.Limits{DrainFor: time.Minute})}})
		record := &call.Record{}
		ctx, cancel := context.WithTimeout(call.With(t.Context(), record), time.Second)
		defer cancel()
		begun := time.Now()
		_, err := r.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
		if fault.From(err).Kind != fault.Timeout || time.Since(begun) >= time.Second || record.CallerLeft {
			t.Errorf("%v after %v, %+v", err, time.Since(begun), record)
		}
	})
}

// A router that closes ends what is still read on, and waits for it.
func TestCloseEndsDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := route.New([]route.Route{{Model: "*", Targets: to(&slow{takes: time.Hour}, route.Limits{DrainFor: time.Minute})}})
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan error, 2)
		ask := func() {
			_, err := r.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
			done <- err
		}
		go ask()
		synctest.Wait()
		leave()
		synctest.Wait()
		begun := time.Now()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; fault.From(err).Kind != fault.Cancelled || time.Since(begun) != 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		// Nothing is begun for a caller that has left already, and what is read on from
		// now on is ended at once.
		ask()
		if err := <-done; fault.From(err).Kind != fault.Cancelled || time.Since(begun) != 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}
