package gateway

import (
	"context"

	"google.golang.org/grpc"
)

// source is where a stream's events come from, so that they can be waited for together
// with other things.
type source interface {
	// Messages are closed at the end of the stream.
	Messages() <-chan any
	// End says why it ended: io.EOF or an error.
	End() error
}

// withinProcess gives the source that a stream within the process is itself: its messages
// need no goroutine that waits for them, and no copy.
func withinProcess[Q, E any](stream grpc.ServerStreamingClient[E]) (source, bool) {
	generic, ok := stream.(*grpc.GenericClientStream[Q, E])
	if !ok {
		return nil, false
	}
	within, ok := generic.ClientStream.(source)
	return within, ok
}

// mostAhead is how many events may wait for a slow caller before the core's sending is
// held up.
const mostAhead = 64

// reader is the source that a stream over a connection is made into.
type reader struct {
	messages chan any
	err      error // set before messages is closed
}

// readAhead moves events from the core to the source until the stream or the request
// ends, which the endpoint waits for.
func readAhead[E any](ctx context.Context, x *exchange, stream grpc.ServerStreamingClient[E]) *reader {
	r := &reader{messages: make(chan any, mostAhead)}
	x.stream.readers.Go(func() {
		defer close(r.messages)
		for {
			event, err := stream.Recv()
			if err != nil {
				r.err = err
				return
			}
			select { // most find room, and to wait for two things costs more
			case r.messages <- event:
				continue
			default:
			}
			select {
			case r.messages <- event:
			case <-ctx.Done():
				r.err = ctx.Err()
				return
			}
		}
	})
	return r
}

func (r *reader) Messages() <-chan any { return r.messages }
func (r *reader) End() error           { return r.err }
