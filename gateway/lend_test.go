package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// reader is a core that reads the bodies of requests. It refuses a body that is not one letter from its
// first content to its last, and answers with that letter.
type reader struct {
	genwayv1.UnimplementedGenerationServer
}

func (reader) read(req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	raw := string(req.GetWire().GetJson())
	_, content, _ := strings.Cut(raw, `"content":"`)
	content, _, whole := strings.Cut(content, `"`)
	if !whole || strings.Trim(content, content[:1]) != "" {
		return nil, status.Errorf(codes.DataLoss, "a body of others: %.80q", raw)
	}
	resp := answer()
	resp.Candidates[0].Parts[0].GetText().Text = fmt.Sprintf("%s %d.", content[:1], len(content))
	return resp, nil
}

func (r reader) GenerateText(_ context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	return r.read(req)
}

func (r reader) StreamGenerateText(req *genwayv1.GenerateTextRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	resp, err := r.read(req)
	if err != nil {
		return err
	}
	for _, ev := range codec.Events(resp, nil) {
		if err := stream.Send(ev); err != nil {
			return err
		}
	}
	return nil
}

// GenerateImage refuses a form whose image is not of one letter, or has come twice, and answers with the letter.
func (reader) GenerateImage(_ context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	if len(req.GetImages()) != 1 || req.GetImages()[0].GetSource() != nil || len(req.GetNativeFields()) > 0 {
		return nil, status.Error(codes.DataLoss, "the body's fields are in the message, too")
	}
	if err := images.Complete(req); err != nil {
		return nil, err
	}
	data := strings.TrimPrefix(string(req.GetImages()[0].GetData()), pngHead)
	if strings.Trim(data, data[:1]) != "" || string(req.GetNativeFields()[0].GetJson()) != `"`+data[:1]+`"` {
		return nil, status.Error(codes.DataLoss, "a body of others")
	}
	return &genwayv1.GenerateImageResponse{Images: []*genwayv1.GeneratedImage{{Source: &genwayv1.GeneratedImage_Url{Url: fmt.Sprintf("%s %d.", data[:1], len(data))}}}}, nil
}

const pngHead = "\x89PNG\r\n\x1a\n"

// Large bodies reach a core over a connection whole, many at once, though their memory is used again: in
// one piece and grown, as answers and as streams, with callers that go away in the middle. (With the race
// detector, memory is written over as it is given back.)
func TestBodiesInMemoryUsedAgain(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(transport.ServerOptions(transport.MaxMessageBytes)...)
	genwayv1.RegisterGenerationServer(server, reader{})
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	conn, err := gateway.Dial(gateway.CoreConfig{Targets: []string{"unix:" + socket}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	handler, err := gateway.New(gateway.Config{Core: conn, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	edge := httptest.NewServer(handler)
	defer edge.Close()
	var callers sync.WaitGroup
	for n := range 5 {
		callers.Go(func() {
			letter := string(rune('a' + n))
			for _, size := range []int{arena.Least - 100, arena.Least, 1<<20 + 1000} {
				for _, streamed := range []bool{false, true} {
					body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":%q}]}`, streamed, strings.Repeat(letter, size))
					ctx, leave := context.WithCancel(t.Context())
					if n == 4 { // it goes away when half of the body is sent
						_, _ = post(ctx, edge, io.MultiReader(strings.NewReader(body[:len(body)/2]), leaving(leave)), len(body))
					} else if got, err := post(ctx, edge, strings.NewReader(body), len(body)); err != nil || !strings.Contains(got, fmt.Sprintf("%s %d.", letter, size)) {
						t.Errorf("%s, %d bytes: %v, %.300s", letter, size, err, got)
					}
					leave()
				}
				field := "--b\r\nContent-Disposition: form-data; name=%s\r\n\r\n" + letter + "\r\n"
				form := fmt.Sprintf(field+field+field, "model", "prompt", "x") +
					"--b\r\nContent-Disposition: form-data; name=image; filename=a\r\n\r\n" + pngHead + strings.Repeat(letter, size) + "\r\n--b--"
				header := right("images")
				header.Set("Content-Type", "multipart/form-data; boundary=b")
				if got, err := postTo(t.Context(), edge, "/v1/images/edits", header, strings.NewReader(form), len(form)); err != nil || !strings.Contains(got, fmt.Sprintf("%s %d.", letter, size)) {
					t.Errorf("%s, a form of %d bytes: %v, %.300s", letter, size, err, got)
				}
			}
		})
	}
	callers.Wait()
	edge.Client().CloseIdleConnections()
}

// leaving is a reader that ends the call.
type leaving func()

func (l leaving) Read([]byte) (int, error) {
	l()
	return 0, io.ErrUnexpectedEOF
}

// post sends a body of a length and returns the answer to it.
func post(ctx context.Context, edge *httptest.Server, body io.Reader, length int) (string, error) {
	return postTo(ctx, edge, "/v1/chat/completions", right("chat"), body, length)
}

func postTo(ctx context.Context, edge *httptest.Server, path string, header http.Header, body io.Reader, length int) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, edge.URL+path, body)
	if err != nil {
		return "", err
	}
	req.Header, req.ContentLength = header, int64(length)
	resp, err := edge.Client().Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return string(got), err
}
