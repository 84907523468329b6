package gateway_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/internal/transport/inproc"
)

// BenchmarkRefuse is a request that is refused while there is no memory left.
func BenchmarkRefuse(b *testing.B) {
	channel := &inproc.Channel{}
	genwayv1.RegisterGenerationServer(channel, fastCore{})
	gate := overload.New(overload.Config{Memory: 1, Logger: slog.New(slog.DiscardHandler)})
	running, stop := context.WithCancel(b.Context())
	defer stop()
	go gate.Run(running)
	edge, err := gateway.New(gateway.Config{Core: channel, Gate: gate, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	for !gate.Pressed() {
	}
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("a", 500) + `"}]}`
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.ProtoMajor, r.Body = 1, io.NopCloser(strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer gwk_x")
		r.RemoteAddr = "127.0.0.1:1"
		edge.ServeHTTP(&sink{header: http.Header{}}, r)
	}
}
