package core

import (
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
)

// gatherer sends the events of a stream to an edge that takes batches. Events that are ready together
// go as one message, since a message costs more than an event: events wait until the adapter of the
// upstream is about to wait (call.Record.Flush). An adapter that does not say when it waits has each
// event sent at once. It is for one goroutine at a time.
type gatherer struct {
	stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]
	record *call.Record
	events []*genwayv1.StreamGenerateTextResponse
	err    error
}

// newGatherer makes the gatherer of a call, which the record flushes; nil for a caller that takes no
// batches.
func newGatherer(req *genwayv1.GenerateTextRequest, record *call.Record, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) *gatherer {
	if !req.GetWire().GetExtension().GetAcceptsTranslatedBatches() {
		return nil
	}
	g := &gatherer{stream: stream, record: record}
	record.OnFlush = g.flush
	return g
}

// send sends an event, or has it wait. An event that could not be sent later is an error of the next
// one. None waits behind the completed event, so that its error is its own.
func (g *gatherer) send(ev *genwayv1.StreamGenerateTextResponse) error {
	g.events = append(g.events, ev)
	if !g.record.Gathers || len(g.events) == transport.MaxBatch || ev.GetCompleted() != nil {
		g.flush()
	}
	return g.err
}

// flush sends the events that wait. Of a nil gatherer none do.
func (g *gatherer) flush() {
	if g == nil {
		return
	}
	for left := g.events; len(left) > 0 && g.err == nil; {
		message, n, err := transport.Batch(left)
		if err == nil {
			err = g.stream.Send(message)
		}
		left, g.err = left[n:], err
	}
	clear(g.events)
	g.events = g.events[:0]
}
