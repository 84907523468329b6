package core_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/telemetry/tracing"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// carrying is an upstream that notes what travels with its calls.
type carrying struct {
	scripted

	seen tracing.Carried
}

func (c *carrying) GenerateText(ctx context.Context, _ *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	c.seen = call.Of(ctx).Span.Carried
	return &genwayv1.GenerateTextResponse{}, nil
}

// A direct caller's trace and baggage travel with its call, as metadata of gRPC, whether or
// not this program exports anything; what is malformed is left out.
func TestContextOfDirectCallers(t *testing.T) {
	up := &carrying{}
	service, err := core.New(core.Config{Upstream: up, Clock: time.Now, NewID: func(p string) string { return p + "1" }})
	if err != nil {
		t.Fatal(err)
	}
	server := core.NewServer(service, core.Interceptors{Authenticator: auth.Authenticator{Keys: fixedKeys{}}, Logger: slog.New(slog.DiscardHandler)}, core.ServerConfig{Grace: time.Second})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		server.Close()
	})
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for name, c := range map[string]struct{ parent, state, bag, wantParent, wantState, wantBag string }{
		"a trace":             {parent, "vendor=1", "user=7", parent, "vendor=1", "user=7"},
		"only a trace":        {parent, "", "", parent, "", ""},
		"no trace":            {"", "vendor=1", "user=7", "", "", "user=7"},
		"a malformed trace":   {"00-x", "vendor=1", "", "", "", ""},
		"a malformed state":   {parent, "=", "user=7", parent, "", "user=7"},
		"a malformed baggage": {parent, "vendor=1", "=,=", parent, "vendor=1", ""},
	} {
		md := metadata.Pairs("authorization", "Bearer internal")
		for key, value := range map[string]string{"traceparent": c.parent, "tracestate": c.state, "baggage": c.bag} {
			if value != "" {
				md.Set(key, value)
			}
		}
		if _, err := genwayv1.NewGenerationClient(conn).GenerateText(metadata.NewOutgoingContext(t.Context(), md), request()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := up.seen; tracing.Parent(got.SpanContext) != c.wantParent || got.TraceState().String() != c.wantState || got.Baggage != c.wantBag {
			t.Errorf("%s: %q %q %q", name, tracing.Parent(got.SpanContext), got.TraceState(), got.Baggage)
		}
	}
}
