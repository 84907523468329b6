package gateway

import (
	"context"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
)

// client is the core's client as the runtime sees it. It makes streams safe to forward. A
// call that fails before its first message fails as a unary call does. Silence becomes
// pings. An end without the completed event becomes an error.
type client struct {
	unaryClient
	heartbeat time.Duration
}

// StreamGenerateText waits for the first message or the failure in its place, and writes
// the headers that came with it.
func (c *client) StreamGenerateText(ctx context.Context, in *genwayv1.GenerateTextRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[genwayv1.StreamGenerateTextResponse], error) {
	return openStream(ctx, c, in, c.GenerationClient.StreamGenerateText, opts, kindOf[genwayv1.StreamGenerateTextResponse]{
		method: genwayv1.Generation_StreamGenerateText_FullMethodName,
		events: func(ev *genwayv1.StreamGenerateTextResponse) int64 {
			return max(int64(ev.GetWire().GetBatch().GetCount()), 1)
		},
		batch:     func(ev *genwayv1.StreamGenerateTextResponse) []byte { return ev.GetWire().GetBatch().GetTranslated() },
		ping:      func() *genwayv1.StreamGenerateTextResponse { return codec.Event(&genwayv1.Ping{}) },
		completed: func(ev *genwayv1.StreamGenerateTextResponse) bool { return ev.GetCompleted() != nil },
		check:     (&codec.Sequence{Protocol: exchangeOf(ctx).endpoint.protocol.ID}).Check,
	})
}

// StreamGenerateImage does the same for images.
func (c *client) StreamGenerateImage(ctx context.Context, in *genwayv1.GenerateImageRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[genwayv1.StreamGenerateImageResponse], error) {
	return openStream(ctx, c, in, c.GenerationClient.StreamGenerateImage, opts, kindOf[genwayv1.StreamGenerateImageResponse]{
		method:    genwayv1.Generation_StreamGenerateImage_FullMethodName,
		events:    func(*genwayv1.StreamGenerateImageResponse) int64 { return 1 },
		ping:      func() *genwayv1.StreamGenerateImageResponse { return images.Event(&genwayv1.Ping{}) },
		completed: func(ev *genwayv1.StreamGenerateImageResponse) bool { return ev.GetCompleted() != nil },
		check:     new(images.Sequence).Check,
	})
}

// kindOf is what the edge knows of the events of a stream: the method that gives them, how
// to make a ping, which is the last, and how many of the upstream's events one stands for.
// batch gives the translated events that a message has in the place of one event, none for an event;
// nil where there are no batches. check gives an error for an event that breaks the contract's order.
type kindOf[E any] struct {
	method    string
	events    func(*E) int64
	batch     func(*E) []byte
	ping      func() *E
	completed func(*E) bool
	check     func(*E) error
}
