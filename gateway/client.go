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
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// client is the core's client as the runtime sees it. It makes streams safe to
// forward: a call that fails before its first message fails as a call, silence
// becomes pings, and an end without the completed event becomes an error.
type client struct {
	genwayv1.GenerationClient
	heartbeat time.Duration
}

// StreamGenerateText waits for the first message.
func (c *client) StreamGenerateText(ctx context.Context, in *genwayv1.GenerateTextRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[genwayv1.StreamGenerateTextResponse], error) {
	inner, err := c.GenerationClient.StreamGenerateText(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	first, err := inner.Recv()
	if err != nil {
		return nil, cutIfEOF(err)
	}
	header, err := inner.Header()
	if err != nil {
		return nil, err
	}
	s := &eventStream{ServerStreamingClient: inner, header: header, events: make(chan received, readAhead), done: ctx.Done(), heartbeat: c.heartbeat}
	s.completed = first.GetCompleted() != nil
	s.events <- received{event: first}
	x := exchangeOf(ctx)
	x.stream.ready = func() bool { return len(s.events) > 0 }
	x.stream.readers.Go(func() {
		s.read(ctx)
	})
	return s, nil
}

// readAhead is how many events may wait for a slow caller before the core's
// sending is held up.
const readAhead = 64

type received struct {
	event *genwayv1.StreamGenerateTextResponse
	err   error
}

type eventStream struct {
	grpc.ServerStreamingClient[genwayv1.StreamGenerateTextResponse]
	header    metadata.MD
	events    chan received
	done      <-chan struct{} // the request is over
	heartbeat time.Duration
	timer     *time.Timer
	completed bool
}

// Header gives the header that came with the first message. A stream within the
// process would answer only when no Recv is under way: with the second message.
func (s *eventStream) Header() (metadata.MD, error) { return s.header, nil }

// read moves events from the core to the channel until the stream or the request
// ends.
func (s *eventStream) read(ctx context.Context) {
	for {
		event, err := s.ServerStreamingClient.Recv()
		select {
		case s.events <- received{event, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

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

func (s *eventStream) next() (received, bool) {
	select {
	case r := <-s.events:
		return r, true
	default:
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
	case r := <-s.events:
		return r, true
	case <-s.done:
		return received{err: status.FromContextError(context.Canceled).Err()}, true
	case <-silence:
		return received{}, false
	}
}

// cutIfEOF is case S5: the end of a stream is no success unless it says so.
func cutIfEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return fault.Wrap(io.ErrUnexpectedEOF, fault.BadUpstream, fault.ReasonStreamCut, "the answer was cut off before its end")
	}
	return err
}
