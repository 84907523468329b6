package inproc_test

import (
	"context"
	"slices"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// A handler reads the same metadata by transport.Incoming over the channel and over a connection, in a
// unary call and in a stream; what the client's context has for calls that it serves is not among it.
func TestIncoming(t *testing.T) {
	check := func(ctx context.Context) {
		if got := transport.Incoming(ctx, "asked"); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("asked: %q", got)
		}
		for _, name := range []string{"nothing", "served", ""} {
			if got := transport.Incoming(ctx, name); got != nil {
				t.Errorf("%q: %q", name, got)
			}
		}
	}
	s := &service{
		unary: func(ctx context.Context, _ *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
			check(ctx)
			return &genwayv1.GenerateTextResponse{}, nil
		},
		stream: func(_ *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
			check(stream.Context())
			return nil
		},
	}
	onBoth(t, s, func(t *testing.T, client genwayv1.GenerationClient) {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("served", "x"))
		ctx = metadata.AppendToOutgoingContext(ctx, "asked", "a", "Asked", "b")
		if _, err := client.GenerateText(ctx, &genwayv1.GenerateTextRequest{}); err != nil {
			t.Error(err)
		}
		events, err := client.StreamGenerateText(ctx, &genwayv1.GenerateTextRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := events.Recv(); err == nil {
			t.Error("an event")
		}
	})
}
