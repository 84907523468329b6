package gateway_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/gateway"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport/inproc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// fastCore is a core that answers at once, with the metadata a core sends.
type fastCore struct {
	genwayv1.UnimplementedGenerationServer
	answer []byte
	events int
}

func (s fastCore) sendHeader(ctx context.Context) error {
	if _, ok := metadata.FromIncomingContext(ctx); !ok {
		return io.ErrUnexpectedEOF
	}
	return grpc.SetHeader(ctx, metadata.Pairs("x-request-id", "req_1", "genway-rate-requests", "1000 999 60", "genway-rate-tokens", "100000 99000 600",
		"x-genway-upstream", "main", "x-genway-attempts", "1", "genway-answer-openai-processing-ms", "12"))
}

func (s fastCore) GenerateText(ctx context.Context, _ *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	return &genwayv1.GenerateTextResponse{Model: "m", Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: s.answer}}, s.sendHeader(ctx)
}

func (s fastCore) StreamGenerateText(_ *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	if err := s.sendHeader(stream.Context()); err != nil {
		return err
	}
	run := &genwayv1.WireFrame{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Batch: &edgev1.FrameBatch{Events: s.answer, Count: 1}}
	for range s.events {
		if err := stream.Send(codec.Event(run)); err != nil {
			return err
		}
	}
	return stream.Send(codec.Event(&genwayv1.TextCompleted{}))
}

// announced is a channel to a core that takes deferred bodies, as Genway's own does.
type announced struct{ *inproc.Channel }

func (announced) TakesDeferredBodies() bool { return true }

// sink is a ResponseWriter that keeps nothing.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header              { return s.header }
func (*sink) Write(b []byte) (int, error)        { return len(b), nil }
func (*sink) WriteHeader(int)                    {}
func (*sink) Flush()                             {}
func (*sink) SetReadDeadline(_ time.Time) error  { return nil }
func (*sink) SetWriteDeadline(_ time.Time) error { return nil }

// BenchmarkEdge is what the edge and the channel to a core in the process cost, without
// a server and without a core.
func BenchmarkEdge(b *testing.B) {
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("word ", 200) + `"}],"max_tokens":512`
	for _, c := range []struct {
		name, body string
		events     int
	}{{"chat-1KB", body + "}", 0}, {"chat-stream-200", body + `,"stream":true}`, 200}} {
		b.Run(c.name, func(b *testing.B) {
			channel := new(inproc.Channel)
			genwayv1.RegisterGenerationServer(channel, fastCore{answer: bytes.Repeat([]byte("x"), 200), events: c.events})
			handler, err := gateway.New(gateway.Config{Core: announced{channel}, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/chat/completions", nil)
			header := http.Header{"Authorization": {"Bearer key"}, "Content-Type": {"application/json"}, "User-Agent": {"test"}, "Accept": {"*/*"}}
			r.ContentLength = int64(len(c.body))
			b.ReportAllocs()
			for b.Loop() {
				request, url := *r, *r.URL
				request.Header, request.URL, request.Body = header.Clone(), &url, io.NopCloser(strings.NewReader(c.body))
				handler.ServeHTTP(&sink{header: http.Header{}}, &request)
			}
		})
	}
}
