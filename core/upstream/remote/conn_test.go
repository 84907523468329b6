package remote

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// counting counts the writes of a connection.
type counting struct {
	net.Conn
	writes *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// A small request leaves in one write, and the body of a large one, but for its beginning,
// in one more; the next one goes over the same connection.
func TestBodiesAreSentWhole(t *testing.T) {
	var got int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[]}`)
	}))
	t.Cleanup(server.Close)
	var dials, writes atomic.Int64
	transport := NewTransport(Way{Direct: true})
	t.Cleanup(transport.CloseIdleConnections)
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return newConn(counting{conn, &writes}), err
	}
	u, err := New(Config{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, BaseURL: server.URL, HTTP: transport})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ size, writes int64 }{{1_000, 1}, {1_000_000, 2}, {1_000, 1}} {
		writes.Store(0)
		body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", int(c.size)) + `"}]}`
		wire := &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(body)}
		if _, err := u.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: "m", Wire: wire})); err != nil {
			t.Fatal(err)
		}
		if got != int64(len(body)) || writes.Load() != c.writes {
			t.Errorf("%d bytes of %d in %d writes, want %d", got, len(body), writes.Load(), c.writes)
		}
	}
	if dials.Load() != 1 {
		t.Errorf("%d connections", dials.Load())
	}
}
