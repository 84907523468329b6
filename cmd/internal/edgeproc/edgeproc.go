// Package edgeproc runs the edge: its flags, its listener and its end. It must not
// import core, so that the edge's binary holds no store and no upstream code.
package edgeproc

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/gateway"
	"google.golang.org/grpc"
)

// EdgeFlags are the edge's flags.
type EdgeFlags struct {
	HTTP         string        `name:"http" env:"GENWAY_HTTP" default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address of the JSON side: HOST:PORT or unix:PATH."`
	MaxBody      int64         `name:"max-body-bytes" env:"GENWAY_MAX_BODY_BYTES" default:"67108864" help:"Largest request body, after decompression."`
	BodyMemory   int64         `name:"body-memory" env:"GENWAY_BODY_MEMORY" placeholder:"BYTES" help:"Most memory for request bodies, of all requests together: at least four times --max-body-bytes, by default 1 GiB or as much. One key and one address may have half of it each."`
	Heartbeat    time.Duration `env:"GENWAY_HEARTBEAT" default:"10s" help:"Silence after which a stream says that it is alive; negative is never."`
	WriteTimeout time.Duration `env:"GENWAY_WRITE_TIMEOUT" default:"60s" help:"How long a caller may take to accept the next piece of an answer."`

	TrustedProxy []netip.Prefix `name:"trusted-proxy" env:"GENWAY_TRUSTED_PROXIES" placeholder:"CIDR" help:"Networks of proxies whose X-Forwarded-For says where a request comes from; for keys that are good from some addresses only."`

	CORSOrigin []string `name:"cors-origin" env:"GENWAY_CORS_ORIGINS" placeholder:"ORIGIN" help:"Origins whose pages may call the JSON side from a browser: SCHEME://HOST[:PORT], or * for all. None by default."`

	MessagesKeyHeader        []string `env:"GENWAY_MESSAGES_KEY_HEADERS" default:"x-api-key" placeholder:"NAME" help:"Headers with the key of the messages protocol."`
	GenerateContentKeyHeader []string `name:"generatecontent-key-header" env:"GENWAY_GENERATECONTENT_KEY_HEADERS" default:"x-goog-api-key,x-vendorc-api-key" placeholder:"NAME" help:"Headers with the key of the generateContent protocol."`
	VersionHeader            []string `env:"GENWAY_VERSION_HEADERS" default:"anthropic-version,vendorb-version" placeholder:"NAME" help:"Headers with the version of the messages protocol."`
}

// ListenHTTP opens the edge's listener.
func (f EdgeFlags) ListenHTTP(ctx context.Context) (net.Listener, error) {
	return cli.Listen(ctx, "--http", f.HTTP)
}

// Serve serves the edge on the listener, in front of core, until ctx ends and the
// requests in flight are done or the grace is over.
func (f EdgeFlags) Serve(ctx context.Context, listener net.Listener, core grpc.ClientConnInterface, grace time.Duration, log *slog.Logger) error {
	edge, err := gateway.New(gateway.Config{ //nolint:contextcheck // the registration outlives ctx, as the connection does
		Core: core,
		Headers: gateway.Headers{
			MessagesKey:        f.MessagesKeyHeader,
			GenerateContentKey: f.GenerateContentKeyHeader,
			Version:            f.VersionHeader,
		},
		MaxBodyBytes:   f.MaxBody,
		BodyMemory:     f.BodyMemory,
		TrustedProxies: f.TrustedProxy,
		CORSOrigins:    f.CORSOrigin,
		Heartbeat:      f.Heartbeat,
		WriteTimeout:   f.WriteTimeout,
		Logger:         log,
	})
	if err != nil {
		return err
	}
	return gateway.Serve(ctx, listener, edge, gateway.ServerConfig{Grace: grace, Logger: log})
}
