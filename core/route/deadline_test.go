package route_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// slow takes its time for an answer, and gives up when its context ends.
type slow struct {
	stub
	takes time.Duration
	// first is the first event of its streams; nil is the usual one.
	first *genwayv1.StreamGenerateTextResponse
}

func (s *slow) pause(ctx context.Context) error {
	select {
	case <-time.After(s.takes):
		return nil
	case <-ctx.Done():
		return upstream.Interrupted(ctx)
	}
}

func (s *slow) GenerateText(ctx context.Context, _ *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	s.called(ctx, nil)
	if s.err != nil {
		return nil, s.err
	}
	if err := s.pause(ctx); err != nil {
		return nil, err
	}
	return &genwayv1.GenerateTextResponse{Id: s.name, Usage: &genwayv1.Usage{OutputTokens: 7}}, nil
}

// StreamGenerateText begins at once and ends in time.
func (s *slow) StreamGenerateText(ctx context.Context, _ *deferred.Request, send upstream.Send) error {
	s.called(ctx, nil)
	if s.err != nil && !s.after {
		return s.err
	}
	first := s.first
	if first == nil {
		first = codec.Event(&genwayv1.TextStarted{Id: s.name})
	}
	if err := send(first); err != nil {
		return err
	}
	if err := s.pause(ctx); err != nil {
		return err
	}
	if s.err != nil {
		return s.err
	}
	return send(codec.Event(&genwayv1.TextCompleted{Usage: &genwayv1.Usage{OutputTokens: 7}}))
}

func to(u upstream.Upstream, limits route.Limits) []route.Target {
	return []route.Target{{Name: "u", Upstream: u, Guard: route.NewGuard(limits)}}
}

// Every call ends in time: the upstream's, the route's, or the caller's less a little,
// so that it is we who say so.
func TestDeadlines(t *testing.T) {
	for _, c := range []struct {
		name                    string
		caller, route, upstream time.Duration
		after                   time.Duration
		calls                   int
	}{
		{"none but the default", 0, 0, 0, time.Hour, 1},
		{"the upstream's", 0, 0, time.Minute, time.Minute, 1},
		{"the route's", 0, time.Second, time.Minute, time.Second, 1},
		{"the caller's", time.Second, 0, time.Minute, 950 * time.Millisecond, 1},
		{"the caller's, long", time.Minute, 0, 0, time.Minute - 250*time.Millisecond, 1},
		{"the caller's, short", 20 * time.Millisecond, 0, 0, 15 * time.Millisecond, 1},
		{"the caller's, over", 2 * time.Millisecond, 0, 0, 0, 0},
	} {
		for _, streamed := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				u := &slow{takes: 100 * time.Hour}
				r := route.New([]route.Route{{Model: "*", Deadline: c.route, Targets: to(u, route.Limits{Deadline: c.upstream})}})
				ctx := t.Context()
				if c.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.caller)
					defer cancel()
				}
				begun := time.Now()
				var err error
				if streamed {
					err = r.StreamGenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
				} else {
					_, err = r.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
				}
				if f := fault.From(err); f == nil || f.Kind != fault.Timeout || f.Reason != upstream.ReasonDeadline {
					t.Errorf("%s: %v", c.name, err)
				}
				if took := time.Since(begun); took != c.after || u.calls != c.calls {
					t.Errorf("%s: %v and %d calls, want %v", c.name, took, u.calls, c.after)
				}
			})
		}
	}
}

// An upstream that runs out of its own time is followed by the fallback, and counts as
// failing; the route's time is for both.
func TestDeadlinesAndFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late, ready := &slow{stub: stub{name: "late"}, takes: time.Hour}, &slow{stub: stub{name: "ready"}, takes: time.Second}
		routes := []route.Route{{
			Model: "*", Targets: to(late, route.Limits{Deadline: time.Minute, BreakAfter: 1}), Fallback: to(ready, route.Limits{}),
		}}
		r := route.New(routes)
		if resp, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"})); err != nil || resp.GetId() != "ready" {
			t.Errorf("%v, %v", resp, err)
		}
		if _, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"})); err != nil || late.calls != 1 {
			t.Errorf("%v after %d calls", err, late.calls)
		}
		routes[0].Deadline, routes[0].Targets = 10*time.Second, to(late, route.Limits{Deadline: time.Minute})
		r.Swap(routes)
		before := ready.calls
		if _, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"})); err != nil || ready.calls != before+1 {
			t.Errorf("%v, %d calls of the fallback", err, ready.calls-before)
		}
	})
}

// A trial call whose caller disconnects says nothing about the upstream: the next call is
// the trial.
func TestTrialsOfGoneCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &slow{stub: stub{name: "u"}, takes: time.Hour}
		r := route.New([]route.Route{{Model: "*", Targets: to(u, route.Limits{BreakAfter: 1, BreakFor: time.Minute, Deadline: time.Second})}})
		ask := func(ctx context.Context) error {
			_, err := r.GenerateText(ctx, deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
			return err
		}
		if err := ask(t.Context()); fault.From(err).Kind != fault.Timeout {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's own clock
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, leave)
		if err := ask(ctx); fault.From(err).Kind != fault.Cancelled {
			t.Fatal(err)
		}
		// The upstream still hangs: were the trial a success, a second call would be
		// made after this one has failed.
		if err := ask(t.Context()); fault.From(err).Kind != fault.Timeout || u.calls != 3 {
			t.Fatalf("%v after %d calls", err, u.calls)
		}
		if err := ask(t.Context()); fault.From(err).Reason != "UPSTREAM_BROKEN" || u.calls != 3 {
			t.Errorf("%v after %d calls", err, u.calls)
		}
	})
}

// While one call tries whether the upstream is back, the others stay away.
func TestOneTrialAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &slow{stub: stub{name: "u"}, takes: time.Hour}
		r := route.New([]route.Route{{Model: "*", Targets: to(u, route.Limits{BreakAfter: 1, BreakFor: time.Minute, Deadline: time.Second})}})
		results := make(chan error, 3)
		ask := func() {
			_, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"}))
			results <- err
		}
		ask()
		<-results
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's own clock
		u.takes = time.Millisecond
		for range 3 {
			go ask()
		}
		away := 0
		for range 3 {
			if err := <-results; fault.From(err) != nil && fault.From(err).Reason == "UPSTREAM_BROKEN" {
				away++
			}
		}
		if away != 2 || u.calls != 2 {
			t.Errorf("%d stayed away, %d calls", away, u.calls)
		}
		if _, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m"})); err != nil {
			t.Errorf("after the trial: %v", err)
		}
	})
}
