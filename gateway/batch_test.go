package gateway_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
)

// overConnection has an edge reach its stand-in core over a unix socket.
func overConnection(t *testing.T) *edge {
	t.Helper()
	dir, err := os.MkdirTemp("", "gb") // short: a socket's path is
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := gateway.Dial(gateway.CoreConfig{Targets: []string{"unix:" + socket}})
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(transport.ServerOptions(transport.MaxMessageBytes)...)
	t.Cleanup(func() {
		server.Stop()
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	e := serve(t, func(c *gateway.Config) { c.Core = conn })
	genwayv1.RegisterGenerationServer(server, e.core)
	go func() { _ = server.Serve(listener) }()
	return e
}

// batched sends events in batches of so many.
func batched(send func(*genwayv1.StreamGenerateTextResponse) error, events []*genwayv1.StreamGenerateTextResponse, size int) error {
	for left := events; len(left) > 0; {
		message, n, err := transport.Batch(left[:min(size, len(left))])
		if err == nil {
			err = send(message)
		}
		if err != nil {
			return err
		}
		left = left[n:]
	}
	return nil
}

// complete is what only a whole answer has, by protocol.
var complete = map[string]string{
	"chat": `"finish_reason":"stop"`, "responses": "response.completed", "messages": "message_stop", "generatecontent": `"finishReason":"STOP"`, "interactions": "interaction.completed",
}

var completedAt = regexp.MustCompile(`"completed_at":\d+,`)

// Callers of any protocol get from batches what they get from single events, whole and cut.
func TestTranslatedBatches(t *testing.T) {
	e := overConnection(t)
	events := codec.Events(answer(), func(s string) []string { return strings.Split(s, "") })
	for _, p := range append(streamed, struct{ name, path, body, end string }{"generatecontent", "/v1beta/models/m:streamGenerateContent", streamed[3].body, "]"}) {
		for of, end := range map[string]int{"whole": len(events), "cut": len(events) - 2} {
			var single reply
			for size := 1; size <= len(events); size++ {
				e.core.stream = func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
					return batched(send, events[:end], size)
				}
				r := e.do(t, http.MethodPost, p.path, right(p.name), p.body)
				r.body = completedAt.ReplaceAllString(r.body, "") // it is the time of day
				switch {
				case size > 1 && (r.body != single.body || r.status != single.status):
					t.Errorf("%s, %s, batches of %d: %d %s\nwant %d %s", p.name, of, size, r.status, r.body, single.status, single.body)
				case size == 1 && strings.Contains(r.body, complete[p.name]) != (of == "whole"):
					t.Errorf("%s, %s: %s", p.name, of, r.body)
				}
				if size == 1 {
					single = r
				}
			}
		}
	}
}

// A batch that cannot be read ends the stream with an error, and never with the end of an answer. Its
// first event may still come as an error with a status of its own.
func TestUnreadableBatch(t *testing.T) {
	e := overConnection(t)
	whole, _, err := transport.Batch(codec.Events(answer(), nil))
	if err != nil {
		t.Fatal(err)
	}
	data := whole.GetWire().GetBatch().GetTranslated()
	for _, cut := range []int{1, len(data) / 2, len(data) - 1} {
		whole.GetWire().GetBatch().Translated = data[:cut]
		e.core.stream = func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
			return send(whole)
		}
		for _, p := range streamed {
			r := e.do(t, http.MethodPost, p.path, right(p.name), p.body)
			if strings.Contains(r.body, complete[p.name]) || !strings.Contains(r.body, "error") || strings.Contains(r.body, "batch") {
				t.Errorf("%s, %d bytes: %d %s", p.name, cut, r.status, r.body)
			}
			if cut == 1 {
				native(t, p.name, r, http.StatusInternalServerError)
			}
		}
	}
}

// An edge says that it takes batches where they cross a connection, and only there.
func TestAcceptsTranslatedBatches(t *testing.T) {
	for name, c := range map[string]struct {
		edge *edge
		want bool
	}{"over a connection": {overConnection(t), true}, "within the process": {serve(t, nil), false}} {
		for _, p := range streamed {
			c.edge.do(t, http.MethodPost, p.path, right(p.name), p.body)
			if asked := c.edge.core.asked.Load(); asked.GetAcceptsTranslatedBatches() != c.want {
				t.Errorf("%s, %s: %v", name, p.name, asked)
			}
		}
	}
}
