package inproc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport/inproc"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service does what the test says.
type service struct {
	genwayv1.UnimplementedGenerationServer
	unary  func(context.Context, *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error)
	stream func(*genwayv1.GenerateTextRequest, grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error
}

func (s *service) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	return s.unary(ctx, req)
}

func (s *service) StreamGenerateText(req *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	return s.stream(req, stream)
}

// onBoth runs a test over the channel and over a connection: what it sees must be the
// same.
func onBoth(t *testing.T, s *service, test func(*testing.T, genwayv1.GenerationClient)) {
	t.Run("channel", func(t *testing.T) {
		channel := new(inproc.Channel)
		genwayv1.RegisterGenerationServer(channel, s)
		test(t, genwayv1.NewGenerationClient(channel))
	})
	t.Run("connection", func(t *testing.T) {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		genwayv1.RegisterGenerationServer(server, s)
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		test(t, genwayv1.NewGenerationClient(conn))
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

type leak struct{}

// The handler sees the client's metadata, deadline and message, and nothing else of
// its context; the client sees the handler's answer, header and trailer.
func TestUnary(t *testing.T) {
	s := &service{unary: func(ctx context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		if got := md.Get("asked"); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("metadata %v", got)
		}
		if out, ok := metadata.FromOutgoingContext(ctx); ok {
			t.Errorf("the client's metadata would go on to others: %v", out)
		}
		if ctx.Value(leak{}) != nil {
			t.Error("a value of the client's context")
		}
		if _, ok := ctx.Deadline(); !ok {
			t.Error("no deadline")
		}
		if method, _ := grpc.Method(ctx); method != genwayv1.Generation_GenerateText_FullMethodName {
			t.Errorf("method %q", method)
		}
		for _, err := range []error{
			grpc.SetHeader(ctx, metadata.Pairs("said", "1")),
			grpc.SetHeader(ctx, metadata.Pairs("said", "2")),
			grpc.SetTrailer(ctx, metadata.Pairs("done", "3")),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		return &genwayv1.GenerateTextResponse{Model: req.GetModel(), Id: "x", Usage: &genwayv1.Usage{InputTokens: 7}}, nil
	}}
	onBoth(t, s, func(t *testing.T, client genwayv1.GenerationClient) {
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), leak{}, 1), time.Minute)
		defer cancel()
		ctx = metadata.AppendToOutgoingContext(ctx, "asked", "a", "Asked", "b")
		var header, trailer metadata.MD
		got, err := client.GenerateText(ctx, &genwayv1.GenerateTextRequest{Model: "m"}, grpc.Header(&header), grpc.Trailer(&trailer))
		want := &genwayv1.GenerateTextResponse{Model: "m", Id: "x", Usage: &genwayv1.Usage{InputTokens: 7}}
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("%v, %v", got, err)
		}
		if !slices.Equal(header.Get("said"), []string{"1", "2"}) || !slices.Equal(trailer.Get("done"), []string{"3"}) {
			t.Errorf("header %v, trailer %v", header, trailer)
		}
	})
}

// A failure keeps its code, text and details, and the header that came before it.
func TestUnaryFailure(t *testing.T) {
	detailed, err := status.New(codes.NotFound, "no such thing").WithDetails(&genwayv1.ErrorDetail{Param: "model"})
	if err != nil {
		t.Fatal(err)
	}
	var fails error
	s := &service{unary: func(ctx context.Context, _ *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
		return nil, errors.Join(grpc.SetHeader(ctx, metadata.Pairs("said", "1")), fails)
	}}
	for _, c := range []struct {
		fails   error
		code    codes.Code
		details int
	}{
		{detailed.Err(), codes.NotFound, 1},
		{errors.New("plain"), codes.Unknown, 0},
		{context.DeadlineExceeded, codes.DeadlineExceeded, 0},
	} {
		fails = c.fails
		onBoth(t, s, func(t *testing.T, client genwayv1.GenerationClient) {
			var header metadata.MD
			_, err := client.GenerateText(t.Context(), &genwayv1.GenerateTextRequest{}, grpc.Header(&header))
			if st := status.Convert(err); st.Code() != c.code || len(st.Details()) != c.details {
				t.Errorf("%v: %v with %v", c.fails, err, st.Details())
			}
			if !slices.Equal(header.Get("said"), []string{"1"}) {
				t.Errorf("header %v", header)
			}
		})
	}
}

// When a client disconnects, the handler's context ends, and the client gets the error too.
func TestCancelledCall(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	s := &service{unary: func(ctx context.Context, _ *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, errors.New("gave up")
	}}
	onBoth(t, s, func(t *testing.T, client genwayv1.GenerationClient) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			cancel()
		}()
		if _, err := client.GenerateText(ctx, &genwayv1.GenerateTextRequest{}); status.Code(err) != codes.Canceled {
			t.Errorf("the client got %v", err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler got %v", err)
		}
	})
}

// A method that is not registered returns the same error on both transports.
func TestUnknownMethod(t *testing.T) {
	onBoth(t, &service{}, func(t *testing.T, client genwayv1.GenerationClient) {
		if _, err := client.CountTokens(t.Context(), &genwayv1.CountTokensRequest{}); status.Code(err) != codes.Unimplemented {
			t.Error(err)
		}
	})
	channel := new(inproc.Channel)
	if err := channel.Invoke(t.Context(), "/no.Such/Method", nil, nil); status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
	if _, err := channel.NewStream(t.Context(), nil, "/no.Such/Method"); status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
}

// Messages come in order and whole, the header before them, the trailer and the
// status behind.
func TestStream(t *testing.T) {
	const events = 100
	var fails error
	s := &service{stream: func(req *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
		if err := stream.SetHeader(metadata.Pairs("said", req.GetModel())); err != nil {
			t.Error(err)
		}
		for i := range events {
			frame := &genwayv1.WireFrame{Data: []byte{byte(i)}}
			if err := stream.Send(&genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Wire{Wire: frame}}); err != nil {
				return err
			}
		}
		if err := stream.SetHeader(metadata.Pairs("said", "late")); err == nil {
			t.Error("a header behind the messages was taken")
		}
		stream.SetTrailer(metadata.Pairs("done", "3"))
		return fails
	}}
	for _, fails = range []error{nil, status.Error(codes.Unavailable, "cut")} {
		onBoth(t, s, func(t *testing.T, client genwayv1.GenerationClient) {
			stream, err := client.StreamGenerateText(t.Context(), &genwayv1.GenerateTextRequest{Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			header, err := stream.Header()
			if err != nil || !slices.Equal(header.Get("said"), []string{"m"}) {
				t.Errorf("header %v, %v", header, err)
			}
			for i := range events {
				event, err := stream.Recv()
				if err != nil || event.GetWire().GetData()[0] != byte(i) {
					t.Fatalf("message %d: %v, %v", i, event, err)
				}
			}
			_, err = stream.Recv()
			if fails == nil && !errors.Is(err, io.EOF) || fails != nil && status.Code(err) != codes.Unavailable {
				t.Errorf("the end is %v", err)
			}
			if got := stream.Trailer().Get("done"); !slices.Equal(got, []string{"3"}) {
				t.Errorf("trailer %v", got)
			}
		})
	}
}

// A stream that fails before its first message still ends its header.
func TestStreamFailsAtOnce(t *testing.T) {
	s := &service{stream: func(*genwayv1.GenerateTextRequest, grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
		return status.Error(codes.NotFound, "no such model")
	}}
	onBoth(t, s, func(t *testing.T, client genwayv1.GenerationClient) {
		stream, err := client.StreamGenerateText(t.Context(), &genwayv1.GenerateTextRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.NotFound {
			t.Error(err)
		}
		if _, err := stream.Header(); err != nil {
			t.Error(err)
		}
	})
}

// A client that leaves frees a handler that waits for it to take more.
func TestStreamCancelled(t *testing.T) {
	ended := make(chan error, 1)
	data := make([]byte, 1<<16)
	s := &service{stream: func(_ *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
		var err error
		for err == nil {
			frame := &genwayv1.WireFrame{Data: data}
			err = stream.Send(&genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Wire{Wire: frame}})
		}
		<-stream.Context().Done()
		ended <- err
		return err
	}}
	onBoth(t, s, func(t *testing.T, client genwayv1.GenerationClient) {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := client.StreamGenerateText(ctx, &genwayv1.GenerateTextRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-ended; status.Code(err) != codes.Canceled && status.Code(err) != codes.Unavailable {
			t.Errorf("the handler got %v", err)
		}
		for err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.Canceled {
			t.Errorf("the client got %v", err)
		}
	})
}
