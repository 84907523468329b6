package core_test

import (
	"context"
	"errors"
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
	"time"

	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/upstream/remote"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

const (
	chatCompletion = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
	chatChunks     = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}` + "\n\ndata: [DONE]\n\n"
)

// oneLetter is an upstream that fails where a body is not one letter from its first content on. A body of
// the letter z it answers before it has read it.
func oneLetter(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply := func(streamed bool) {
			if streamed {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, chatChunks)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, chatCompletion)
		}
		head := make([]byte, 200)
		n, _ := io.ReadFull(r.Body, head)
		before, content, _ := strings.Cut(string(head[:n]), `"content":"`)
		streamed := strings.Contains(before, `"stream":true`)
		early := strings.HasPrefix(content, "z")
		if early {
			control := http.NewResponseController(w)
			if err := control.EnableFullDuplex(); err != nil {
				t.Error(err)
			}
			reply(streamed)
			_ = control.Flush()
		}
		rest, _ := io.ReadAll(r.Body) // it may be cut
		if left := strings.Trim(content+string(rest), content[:1]); !strings.HasPrefix(left, `"}]`) && (!early || left != "") {
			t.Errorf("a body of others in %q: %.80q", content[:1], left)
		}
		if !early {
			reply(streamed)
		}
	}))
	return server
}

// Large bodies of edges reach the upstream whole, many at once, though their memory is used again: as
// requests and streams, and where the upstream answers before it has read them. (With the race detector,
// memory is written over as it is given back.)
func TestBodiesInMemoryUsedAgain(t *testing.T) {
	up := oneLetter(t)
	defer up.Close()
	http := remote.NewTransport(remote.Way{Direct: true})
	defer http.CloseIdleConnections()
	adapter, err := remote.New(remote.Config{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, BaseURL: up.URL + "/v1", APIKey: "k", HTTP: http})
	if err != nil {
		t.Fatal(err)
	}
	service, err := core.New(core.Config{Upstream: adapter})
	if err != nil {
		t.Fatal(err)
	}
	server := core.NewServer(service, core.Interceptors{
		Authenticator: auth.Authenticator{Keys: fixedKeys{}, Trust: auth.TrustUnixSocket}, Logger: slog.New(slog.DiscardHandler),
	}, core.ServerConfig{Grace: time.Second})
	defer server.Close()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(t.Context(), listener) }()
	conn, err := grpc.NewClient("unix:"+socket, append(transport.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := genwayv1.NewGenerationClient(conn)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer chat", "genway-protocol", "chat_completions")
	var callers sync.WaitGroup
	for _, letter := range []string{"a", "b", "c", "z"} {
		callers.Go(func() {
			for _, size := range []int{arena.Least, 300_000, 3 << 20} {
				for _, streamed := range []bool{false, true} {
					body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":%q}]}`, streamed, strings.Repeat(letter, size))
					head, ok := chat.Codec{}.DecodeRequestHead([]byte(body))
					if !ok {
						t.Error("the body has no head")
						return
					}
					head.Wire = &genwayv1.WireMessage{
						Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(body),
						Extension: &edgev1.RequestExtension{Deferred: true, Statistics: head.Statistics, AcceptsBatches: true},
					}
					if err := ask(ctx, client, head.GenerateTextRequest, streamed); err != nil && letter != "z" {
						t.Errorf("%s, %d bytes, streamed %v: %v", letter, size, streamed, err)
					}
				}
			}
		})
	}
	callers.Wait()
}

// ask makes a call and reads its answer to the end.
func ask(ctx context.Context, client genwayv1.GenerationClient, req *genwayv1.GenerateTextRequest, streamed bool) error {
	if !streamed {
		_, err := client.GenerateText(ctx, req)
		return err
	}
	stream, err := client.StreamGenerateText(ctx, req)
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
