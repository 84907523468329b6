package transport_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/transport"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// drawer answers with a body of the model's name over and over, in the call's memory.
type drawer struct {
	genwayv1.UnimplementedGenerationServer
	size int
}

func (d drawer) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	if sent := req.GetWire().GetJson(); len(sent) > 0 && !bytes.Equal(sent, bytes.Repeat([]byte(req.GetModel()), len(sent))) {
		return nil, status.Errorf(codes.DataLoss, "the body of %s: %.20q", req.GetModel(), sent)
	}
	body := arena.Of(ctx).Make(d.size)
	copy(body, bytes.Repeat([]byte(req.GetModel()), d.size))
	return &genwayv1.GenerateImageResponse{Wire: &genwayv1.WireMessage{Json: body}}, nil
}

// Answers out of memory that is used again come whole, to callers who give theirs back and
// to those who do not, and so do requests out of such memory. (With the race detector, memory is written over as it is given back.)
func TestAnswersInMemoryUsedAgain(t *testing.T) {
	for _, size := range []int{10, 9 << 10, arena.Least, 300_000} {
		listener := bufconn.Listen(1 << 20)
		options := append(transport.ServerOptions(transport.MaxMessageBytes), grpc.UnaryInterceptor(transport.Reuse(
			func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
				return handler(ctx, req)
			})))
		server := grpc.NewServer(options...)
		genwayv1.RegisterGenerationServer(server, drawer{size: size})
		go func() { _ = server.Serve(listener) }()
		conn, err := grpc.NewClient("passthrough:///core", append(transport.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		for caller := range 8 {
			callers.Go(func() {
				letter := string(rune('a' + caller))
				want := bytes.Repeat([]byte(letter), size)
				for range 20 {
					ctx, memory := t.Context(), new(arena.Arena)
					if caller%2 == 0 {
						ctx = arena.With(ctx, memory)
					}
					lent := arena.NewBody()
					sent := lent.Make(size)
					copy(sent, want)
					answer, err := genwayv1.NewGenerationClient(conn).GenerateImage(arena.WithBody(ctx, lent),
						&genwayv1.GenerateImageRequest{Model: letter, Wire: &genwayv1.WireMessage{Json: sent}})
					lent.Release()
					if err != nil || !bytes.Equal(answer.GetWire().GetJson(), want) {
						t.Errorf("%d bytes: %v, %.20q", size, err, answer.GetWire().GetJson())
						return
					}
					if used := memory.Used(); used != (caller%2 == 0 && size >= arena.Least) {
						t.Errorf("%d bytes: memory used: %v", size, used)
					}
					memory.Free()
				}
			})
		}
		callers.Wait()
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
	}
}
