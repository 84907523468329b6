package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport/inproc"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// overPipe serves one connection of pipes, without heartbeats, in a bubble of synctest.
func overPipe(t *testing.T, core *core, use func(t *testing.T, caller net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		channel := new(inproc.Channel)
		genwayv1.RegisterGenerationServer(channel, core)
		edge, err := gateway.New(gateway.Config{Core: channel, Logger: slog.New(slog.DiscardHandler), Heartbeat: -1})
		if err != nil {
			t.Fatal(err)
		}
		listener := pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- gateway.Serve(ctx, listener, edge, gateway.ServerConfig{Grace: -1}) }()
		caller, accepted := net.Pipe()
		listener.conns <- accepted
		use(t, caller)
		_ = caller.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// A stream over HTTP/2 may be silent for longer than a write may take, where there are no heartbeats.
func TestSilentStreamsOverHTTP2(t *testing.T) {
	const silence = 5 * time.Minute
	quiet := &core{}
	quiet.stream = func(ctx context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
		for _, event := range codec.Events(answer(), func(s string) []string { return []string{s[:2], s[2:]} }) {
			if err := send(event); err != nil {
				return err
			}
			select {
			case <-time.After(silence):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	overPipe(t, quiet, func(t *testing.T, caller net.Conn) {
		transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(context.Context, string, string) (net.Conn, error) { return caller, nil }}
		transport.Protocols.SetUnencryptedHTTP2(true)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/v1/chat/completions", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer k")
		answer, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(answer.Body)
		if err != nil || !strings.Contains(string(all), "[DONE]") {
			t.Errorf("%v:\n%s", err, all)
		}
		transport.CloseIdleConnections()
	})
}

// A caller of HTTP/2 that leaves no room for an answer, and answers pings, keeps its stream for little more than a
// minute, whether the edge answers or net/http itself.
func TestAnswersWithoutAWindow(t *testing.T) {
	for name, more := range map[string][]string{
		"of the edge":      nil,
		"of net/http":      {"connection", "close"},
		"of net/http, 431": {"x", strings.Repeat("a", 40<<10), "y", strings.Repeat("a", 40<<10)},
	} {
		overPipe(t, &core{}, func(t *testing.T, caller net.Conn) {
			begun := time.Now()
			writes := make(chan func() error, 100)
			defer close(writes)
			go func() { // a pipe holds no byte
				for write := range writes {
					_ = write()
				}
			}()
			framer := http2.NewFramer(caller, caller)
			var block bytes.Buffer
			fields, encoder := append([]string{":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/livez"}, more...), hpack.NewEncoder(&block)
			for i := 0; i < len(fields); i += 2 {
				_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
			}
			writes <- func() error {
				_, err := io.WriteString(caller, http2.ClientPreface)
				return errors.Join(err, framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize}))
			}
			writes <- func() error {
				err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Next(16 << 10), EndHeaders: block.Len() == 0, EndStream: true})
				for err == nil && block.Len() > 0 {
					piece := block.Next(16 << 10)
					err = framer.WriteContinuation(1, block.Len() == 0, piece)
				}
				return err
			}
			for time.Since(begun) < 10*time.Minute {
				frame, err := framer.ReadFrame()
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				switch f := frame.(type) {
				case *http2.PingFrame:
					data := f.Data
					writes <- func() error { return framer.WritePing(true, data) }
				case *http2.RSTStreamFrame:
					if after := time.Since(begun); after > 2*time.Minute {
						t.Errorf("%s: reset after %v", name, after)
					}
					return
				}
			}
			t.Errorf("%s: the stream is open after %v", name, time.Since(begun))
		})
	}
}

// The deadlines of net/http's own answers do not end a request that is answered: not one that takes longer, and not the
// one after it.
func TestSlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connectedTo(t, gateway.ServerConfig{}, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(50 * time.Second) //nolint:forbidigo // of the bubble's clock
			if r.Context().Err() == nil {
				_, _ = io.WriteString(w, "hello")
			}
		})
		for range 2 {
			e.send(t, last)
			if e.answered(t) {
				t.Error("the connection ends")
			}
		}
		e.end()
		if err := <-e.served; err != nil {
			t.Error(err)
		}
	})
}
