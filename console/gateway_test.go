package console_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	transportpipe "github.com/genway/genway/internal/transport/pipe"
)

// fakeGateway is the JSON side and the contract of a process, which say what was sent to them.
type fakeGateway struct {
	genwayv1.UnimplementedGenerationServer

	listener *transportpipe.Listener

	mu   sync.Mutex
	sent []sentRequest
	// answer, unless nil, answers in place of an echo.
	answer http.HandlerFunc
}

// sentRequest is what reached the gateway.
type sentRequest struct {
	path, key, body, from string
}

func startGateway(tb testing.TB) *fakeGateway {
	tb.Helper()
	g := &fakeGateway{listener: transportpipe.NewListener()}
	server := &http.Server{Handler: g}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(g.listener) }()
	tb.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			tb.Error(err)
		}
	})
	return g
}

func (g *fakeGateway) note(r sentRequest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = append(g.sent, r)
}

// last returns what was sent last, and how many were.
func (g *fakeGateway) last() (sentRequest, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.sent) == 0 {
		return sentRequest{}, 0
	}
	return g.sent[len(g.sent)-1], len(g.sent)
}

func (g *fakeGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.note(sentRequest{r.URL.RequestURI(), r.Header.Get("Authorization") + r.Header.Get("X-Goog-Api-Key"), string(body), r.RemoteAddr})
	w.Header().Set("X-Genway-Request-Id", "req_fake")
	if g.answer != nil {
		g.answer(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

func (g *fakeGateway) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	g.note(sentRequest{"GenerateText", md["authorization"][0], req.GetModel(), md["genway-client"][0]})
	if req.GetModel() == "none" {
		return nil, fault.New(fault.NotFound, fault.ReasonModelNotFound, "there is no <b>none</b>")
	}
	return &genwayv1.GenerateTextResponse{Id: "answer"}, nil
}

func (g *fakeGateway) StreamGenerateText(req *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	g.note(sentRequest{"StreamGenerateText", md["authorization"][0], req.GetModel(), md["genway-client"][0]})
	for range 2 {
		if err := stream.Send(&genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_PartDelta{PartDelta: &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: "hey"}}}}); err != nil {
			return err
		}
	}
	if req.GetModel() == "cut" {
		return fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the stream was cut")
	}
	return nil
}
