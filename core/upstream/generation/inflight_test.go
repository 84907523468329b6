package generation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream/generation"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/grpc"
)

// slow begins answers and continues them on a signal.
type slow struct {
	genwayv1.UnimplementedGenerationServer
	begin bool
	on    chan struct{}
}

func (s *slow) GenerateText(ctx context.Context, _ *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	return nil, s.wait(ctx)
}

func (s *slow) StreamGenerateText(_ *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	if s.begin {
		if err := stream.Send(codec.Event(&genwayv1.TextStarted{Id: "x"})); err != nil {
			return err
		}
	}
	if err := s.wait(stream.Context()); err != nil {
		return err
	}
	return stream.Send(codec.Event(&genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{}}}))
}

func (s *slow) wait(ctx context.Context) error {
	select {
	case <-s.on:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// An answer that does not begin, or does not go on, ends as a timeout.
func TestIdleTimeout(t *testing.T) {
	drop := func(*genwayv1.StreamGenerateTextResponse) error { return nil }
	for name, c := range map[string]struct {
		begin  bool
		config generation.Config
		call   func(*generation.Upstream) error
	}{
		"unary": {false, generation.Config{FirstByte: time.Millisecond}, func(u *generation.Upstream) error {
			_, err := u.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{}))
			return err
		}},
		"a stream that does not begin": {false, generation.Config{FirstByte: time.Millisecond}, func(u *generation.Upstream) error {
			return u.StreamGenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{}), drop)
		}},
		"a stream that does not go on": {true, generation.Config{Idle: time.Millisecond}, func(u *generation.Upstream) error {
			return u.StreamGenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{}), drop)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			u := dialWith(t, &slow{begin: c.begin, on: make(chan struct{})}, c.config)
			if f := fault.From(c.call(u)); f == nil || f.Kind != fault.Timeout {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A connection that is closed lets the calls in flight end first.
func TestCloseInFlight(t *testing.T) {
	s := &slow{begin: true, on: make(chan struct{})}
	u := dialWith(t, s, generation.Config{})
	completed := false
	err := u.StreamGenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{}), func(ev *genwayv1.StreamGenerateTextResponse) error {
		if ev.GetStarted() != nil {
			close(s.on)
			return u.Close()
		}
		completed = completed || ev.GetCompleted() != nil
		return nil
	})
	if err != nil || !completed {
		t.Errorf("completed: %v, %v", completed, err)
	}
	if _, err := u.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{})); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}
