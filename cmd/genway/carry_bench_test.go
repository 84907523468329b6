package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/gateway"
	"google.golang.org/grpc"
)

// carried are requests as they cross the whole gateway, with what the upstream answers.
// The models choose the upstream: own speaks the caller's protocol, foreign another.
var carried = []struct{ name, path, body, answer string }{
	{"chat-1KB", "/v1/chat/completions", chatBody("own", 1_000, ""), chatAnswer},
	{"chat-to-messages-1KB", "/v1/chat/completions", chatBody("foreign", 1_000, ""), messagesAnswer},
	{"chat-stream-200", "/v1/chat/completions", chatBody("own", 1_000, `,"stream":true`), chatStream(200)},
	{"chat-to-messages-stream-200", "/v1/chat/completions", chatBody("foreign", 1_000, `,"stream":true`), messagesStream(200)},
	{"chat-200KB", "/v1/chat/completions", chatBody("own", 200_000, ""), chatAnswer},
	{"image-in-1MB", "/v1/chat/completions", pictureBody(1_000_000), chatAnswer},
	{"image-out-1.5MB", "/v1/images/generations", `{"model":"own","prompt":"a lighthouse"}`, imageAnswer(1_500_000)},
}

func chatBody(model string, size int, more string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":"` + strings.Repeat("word ", size/5) + `"}],"max_tokens":512` + more + `}`
}

func pictureBody(size int) string {
	return `{"model":"own","messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
		strings.Repeat("iVBORw0K", size/8) + `"}}]}]}`
}

var (
	chatAnswer     = whole(`{"id":"chatcmpl-1","object":"chat.completion","created":1763683200,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat("word ", 200) + `","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":210,"total_tokens":229}}`)
	messagesAnswer = whole(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"` + strings.Repeat("word ", 200) + `"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":19,"output_tokens":210}}`)
)

func imageAnswer(size int) string {
	return whole(`{"created":1763683200,"data":[{"b64_json":"` + strings.Repeat("iVBORw0K", size/8) + `"}],"usage":{"input_tokens":12,"output_tokens":272,"total_tokens":284}}`)
}

// whole is an answer with its head.
func whole(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// chatStream is a stream of so many words, in one write: how events arrive together is
// left to no chance.
func chatStream(words int) string {
	var events strings.Builder
	for i := range words {
		fmt.Fprintf(&events, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763683200,"model":"m","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"usage":null}`+"\n\n", i)
	}
	events.WriteString(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763683200,"model":"m","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}` + "\n\n" +
		`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763683200,"model":"m","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":200,"total_tokens":219}}` + "\n\ndata: [DONE]\n\n")
	return wholeStream(events.String())
}

// messagesStream is the same of the messages protocol.
func messagesStream(words int) string {
	var events strings.Builder
	events.WriteString("event: message_start\n" + `data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":19,"output_tokens":1}}}` + "\n\n" +
		"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n")
	for i := range words {
		fmt.Fprintf(&events, "event: content_block_delta\n"+`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word%d"}}`+"\n\n", i)
	}
	events.WriteString("event: content_block_stop\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" +
		"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":200}}` + "\n\n" +
		"event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n")
	return wholeStream(events.String())
}

// wholeStream is a stream with its head.
func wholeStream(events string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: " + strconv.Itoa(len(events)) + "\r\n\r\n" + events
}

// BenchmarkCarry is one request through the whole gateway to an upstream and back, keys
// and ledger on, in both forms. Client and upstream allocate next to nothing.
func BenchmarkCarry(b *testing.B) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil)) //nolint:sloglint // Lines are made, as in production.
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	up := startCanned(ctx, b)
	config := filepath.Join(b.TempDir(), "genway.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `upstreams:
  chat: {kind: chat, base_url: "http://%[1]s/v1"}
  images: {kind: images, base_url: "http://%[1]s/v1"}
  messages: {kind: messages, base_url: "http://%[1]s"}
routes:
  - {model: own, targets: [{upstream: chat}, {upstream: images}]}
  - {model: foreign, targets: [{upstream: messages}]}
`, up.address), 0o600); err != nil {
		b.Fatal(err)
	}
	core, err := coreproc.CoreFlags{Data: coreproc.Data{Dir: b.TempDir(), Config: config}, Grace: time.Second}.Open(ctx, log)
	if err != nil {
		b.Fatal(err)
	}
	key, _, err := core.Keys.Create(ctx, keys.CreateParams{Group: keys.GroupChat})
	if err != nil {
		b.Fatal(err)
	}
	socket := filepath.Join(b.TempDir(), "core")
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- core.Serve(ctx, listener) }()
	remote, err := gateway.Dial(gateway.CoreConfig{Targets: []string{"unix:" + socket}})
	if err != nil {
		b.Fatal(err)
	}
	for _, form := range []struct {
		name string
		core grpc.ClientConnInterface
	}{{"all-in-one", core.Channel()}, {"two-processes", remote}} {
		edge, err := gateway.New(gateway.Config{Core: form.core, Logger: log})
		if err != nil {
			b.Fatal(err)
		}
		server := httptest.NewServer(edge)
		for _, c := range carried {
			b.Run(form.name+"/"+c.name, func(b *testing.B) {
				up.answer = []byte(c.answer)
				carry(b, server.Listener.Addr().String(), fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: genway\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.path, key, len(c.body), c.body))
			})
		}
		server.Close()
	}
	_ = remote.Close()
	stop()
	if err := <-served; err != nil {
		b.Error(err)
	}
	if err := core.Close(); err != nil {
		b.Error(err)
	}
	<-up.done
}

// carry sends a request over one connection, and reads what comes.
func carry(b *testing.B, address string, request []byte) {
	once, end := carrier(b, address, request)
	defer end()
	for range 20 { // pools are filled, connections made
		once()
	}
	b.ReportAllocs()
	for b.Loop() {
		once()
	}
}

// carrier returns what sends a request over one connection and reads its answer, which must be a
// success, and what ends the connection.
func carrier(b *testing.B, address string, request []byte) (once, end func()) {
	b.Helper()
	conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	in := bufio.NewReaderSize(conn, 64<<10)
	return func() {
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status, err)
		}
	}, func() { _ = conn.Close() }
}

// canned is an upstream that answers everything with the same bytes.
type canned struct {
	address string
	answer  []byte // not changed while a request is under way
	done    chan struct{}
}

func startCanned(ctx context.Context, b *testing.B) *canned {
	b.Helper()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	c := &canned{address: listener.Addr().String(), done: make(chan struct{})}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		defer close(c.done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { _ = conn.Close() })
			go c.serve(conn)
		}
	}()
	return c
}

func (c *canned) serve(conn net.Conn) {
	in := bufio.NewReaderSize(conn, 64<<10)
	for length := 0; ; {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		if value, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return
			}
		}
		if len(line) > len("\r\n") {
			continue
		}
		if _, err := in.Discard(length); err != nil {
			return
		}
		if _, err := conn.Write(c.answer); err != nil {
			return
		}
	}
}
