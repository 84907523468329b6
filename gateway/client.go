package gateway

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// client is the core's client as the runtime sees it. It makes streams safe to
// forward: a call that fails before its first message fails as a call, silence
// becomes pings, and an end without the completed event becomes an error.
type client struct {
	listener
	heartbeat time.Duration
}

// StreamGenerateText waits for the first message, and tells what the core says of the
// answer, or of the failure in its place.
func (c *client) StreamGenerateText(ctx context.Context, in *genwayv1.GenerateTextRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[genwayv1.StreamGenerateTextResponse], error) {
	x := exchangeOf(ctx)
	inner, err := c.GenerationClient.StreamGenerateText(x.outgoing(ctx), in, opts...)
	if err != nil {
		return nil, err
	}
	s := &eventStream{ServerStreamingClient: inner, done: ctx.Done(), heartbeat: c.heartbeat}
	first, err := s.begin(ctx)
	header, unknown := inner.Header()
	if unknown == nil {
		x.tellAnswer(header)
	}
	switch {
	case err != nil:
		return nil, cutIfEOF(err)
	case unknown != nil:
		return nil, unknown
	}
	s.header, s.ahead, s.isAhead = header, received{event: first}, true
	x.stream.ready = s.ready
	if s.source == nil {
		s.source = readAhead(ctx, x, inner)
	}
	return s, nil
}

// received is a step of a stream: an event, or why there are no more.
type received struct {
	event *genwayv1.StreamGenerateTextResponse
	err   error
}

// eventStream is a stream of the core's as the runtime forwards it, all on one goroutine.
type eventStream struct {
	grpc.ServerStreamingClient[genwayv1.StreamGenerateTextResponse]
	header    metadata.MD
	source    source
	ahead     received // taken from the source already, if isAhead
	isAhead   bool
	done      <-chan struct{} // the request is over
	heartbeat time.Duration
	timer     *time.Timer
	completed bool
}

// begin gives the first event.
func (s *eventStream) begin(ctx context.Context) (*genwayv1.StreamGenerateTextResponse, error) {
	within, ok := withinProcess(s.ServerStreamingClient)
	if !ok {
		return s.ServerStreamingClient.Recv()
	}
	s.source = within
	select {
	case message, more := <-within.Messages():
		r := s.step(message, more)
		return r.event, r.err
	case <-s.done:
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// Header gives the header that came with the first message.
func (s *eventStream) Header() (metadata.MD, error) { return s.header, nil }

// Recv gives the next event, or a ping after a silence.
func (s *eventStream) Recv() (*genwayv1.StreamGenerateTextResponse, error) {
	r, ok := s.next()
	if !ok {
		return codec.Event(&genwayv1.Ping{}), nil
	}
	if r.err != nil {
		if s.completed { // the caller has the end already; nothing may follow it
			return nil, io.EOF
		}
		return nil, cutIfEOF(r.err)
	}
	if r.event.GetCompleted() != nil {
		s.completed = true
	}
	return r.event, nil
}

// ready reports whether the next step is there already.
func (s *eventStream) ready() bool {
	if s.isAhead {
		return true
	}
	select {
	case message, more := <-s.source.Messages():
		s.ahead, s.isAhead = s.step(message, more), true
	default:
	}
	return s.isAhead
}

func (s *eventStream) next() (received, bool) {
	if s.ready() {
		s.isAhead = false
		return s.ahead, true
	}
	var silence <-chan time.Time
	if s.heartbeat > 0 && !s.completed {
		if s.timer == nil {
			s.timer = time.NewTimer(s.heartbeat)
		} else {
			s.timer.Reset(s.heartbeat)
		}
		defer s.timer.Stop()
		silence = s.timer.C
	}
	select {
	case message, more := <-s.source.Messages():
		return s.step(message, more), true
	case <-s.done:
		return received{err: status.FromContextError(context.Canceled).Err()}, true
	case <-silence:
		return received{}, false
	}
}

// step makes one of what came from the source.
func (s *eventStream) step(message any, more bool) received {
	if !more {
		return received{err: s.source.End()}
	}
	event, ok := message.(*genwayv1.StreamGenerateTextResponse)
	if !ok {
		return received{err: status.Errorf(codes.Internal, "gateway: a %T in a stream", message)}
	}
	return received{event: event}
}

// cutIfEOF is case S5: the end of a stream is no success unless it says so.
func cutIfEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return fault.Wrap(io.ErrUnexpectedEOF, fault.BadUpstream, fault.ReasonStreamCut, "the answer was cut off before its end")
	}
	return err
}
