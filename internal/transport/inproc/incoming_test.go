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
		if _, err := client.GenerateText(transport.WithOutgoing(t.Context(), metadata.MD{"asked": {"a", "b"}}), &genwayv1.GenerateTextRequest{}); err != nil {
			t.Error(err)
		}
	})
}

// Fields of a header are metadata over a connection, and for clients of the channel that ask for metadata. One that asks
// for fields gets them in their order, and no metadata.
func TestFields(t *testing.T) {
	answer := func(ctx context.Context) {
		transport.SetHeader(ctx, transport.Field{Name: "said", Value: "1"})
		transport.SetHeader(ctx)
		transport.SetHeader(ctx, transport.Field{Name: "too", Value: "2"}, transport.Field{Name: "more", Value: ""})
	}
	want := []transport.Field{{Name: "said", Value: "1"}, {Name: "too", Value: "2"}, {Name: "more", Value: ""}}
	check := func(t *testing.T, header metadata.MD) {
		t.Helper()
		for _, f := range want {
			if !slices.Equal(header[f.Name], []string{f.Value}) {
				t.Errorf("%s: %q of %v", f.Name, header[f.Name], header)
			}
		}
	}
	s := &service{
		unary: func(ctx context.Context, _ *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
			answer(ctx)
			return &genwayv1.GenerateTextResponse{}, nil
		},
		stream: func(_ *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
			answer(stream.Context())
			if err := stream.Send(&genwayv1.StreamGenerateTextResponse{}); err != nil {
				return err
			}
			transport.SetHeader(stream.Context(), transport.Field{Name: "late", Value: "3"})
			return nil
		},
	}
	onBoth(t, s, func(t *testing.T, client genwayv1.GenerationClient) {
		var header metadata.MD
		if _, err := client.GenerateText(t.Context(), &genwayv1.GenerateTextRequest{}, grpc.Header(&header)); err != nil {
			t.Fatal(err)
		}
		check(t, header)
		events, err := client.StreamGenerateText(t.Context(), &genwayv1.GenerateTextRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = events.Recv()
		}
		if header, err = events.Header(); err != nil || header["late"] != nil {
			t.Errorf("%v, %v", header, err)
		}
		check(t, header)
		var fields []transport.Field
		header = nil
		if _, err := client.GenerateText(t.Context(), &genwayv1.GenerateTextRequest{}, grpc.Header(&header), transport.Fields(&fields)); err != nil {
			t.Fatal(err)
		}
		if fields == nil { // over a connection
			check(t, header)
		} else if !slices.Equal(fields, want) || header != nil {
			t.Errorf("fields %v, header %v", fields, header)
		}
	})
	transport.SetHeader(t.Context(), want...) // no call: nothing
}
