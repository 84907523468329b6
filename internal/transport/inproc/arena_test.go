package inproc_test

import (
	"context"
	"io"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/transport/inproc"
	"google.golang.org/grpc"
)

// A unary call, which is on its caller's goroutine, has its arena; a stream, which is on
// one of its own, must not: arenas are for one.
func TestArenasAreOfUnaryCalls(t *testing.T) {
	var unary, stream *arena.Arena
	channel := new(inproc.Channel)
	genwayv1.RegisterGenerationServer(channel, &service{
		unary: func(ctx context.Context, _ *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
			unary = arena.Of(ctx)
			return &genwayv1.GenerateTextResponse{}, nil
		},
		stream: func(_ *genwayv1.GenerateTextRequest, s grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
			stream = arena.Of(s.Context())
			return nil
		},
	})
	client, memory := genwayv1.NewGenerationClient(channel), new(arena.Arena)
	ctx := arena.With(t.Context(), memory)
	if _, err := client.GenerateText(ctx, &genwayv1.GenerateTextRequest{}); err != nil {
		t.Fatal(err)
	}
	events, err := client.StreamGenerateText(ctx, &genwayv1.GenerateTextRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := events.Recv(); err != io.EOF { //nolint:errorlint // as gRPC gives it
		t.Fatal(err)
	}
	if unary != memory || stream != nil {
		t.Errorf("the unary call had %p of %p, the stream %p", unary, memory, stream)
	}
}
