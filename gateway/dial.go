package gateway

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"github.com/genway/genway/gateway/cores"
	"github.com/genway/genway/internal/target"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// longestWait is how long the edge waits between attempts to reach a core that is
// away; gRPC's own backoff grows to two minutes, in which a core that is back gets no calls.
const longestWait = 2 * time.Second

// CoreConfig says where the cores are and how the edge proves to be one.
type CoreConfig struct {
	// Targets name the cores: HOST:PORT, dns:///HOST:PORT for a core at each address of the
	// name, or unix:PATH. At least one is needed.
	Targets []string
	// Secret is the shared edge secret; empty when a unix socket's permissions or
	// a client certificate are the proof.
	Secret string
	// TLS, if set, encrypts the connection and may present the edge's certificate. It is asked for
	// each connection again, so that certificates can be replaced.
	TLS func() *tls.Config
	// Logger gets a line when a core is lost and when it is found again. Default: slog.Default().
	Logger *slog.Logger
}

// Dial connects to the cores. Connections are made again when they are lost.
func Dial(config CoreConfig) (*cores.Conn, error) {
	targets, err := target.ParseAll(config.Targets)
	if err != nil {
		return nil, err
	}
	conn, err := cores.Dial(targets, config.Logger, config.credentials(), config.options()...)
	if err != nil {
		return nil, fmt.Errorf("gateway: cores %q: %w", config.Targets, err)
	}
	return conn, nil
}

// credentials give the encryption of each connection.
func (c CoreConfig) credentials() credentials.TransportCredentials {
	if c.TLS == nil {
		return insecure.NewCredentials()
	}
	return newTLS{c.TLS}
}

func (c CoreConfig) options() []grpc.DialOption {
	options := append(transport.DialOptions(),
		grpc.WithUserAgent("genway-edge"),
		grpc.WithConnectParams(grpc.ConnectParams{
			// A core that starts beside its edge is found as soon as it listens.
			Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: longestWait},
			MinConnectTimeout: 5 * time.Second,
		}),
		// Keepalive detects a host that has disappeared, and its calls fail.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	)
	if c.Secret != "" {
		options = append(options, grpc.WithPerRPCCredentials(edgeSecret(c.Secret)))
	}
	return options
}

// edgeSecret puts the shared secret on every call. It goes over cleartext too:
// between hosts, use TLS.
type edgeSecret string

func (s edgeSecret) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"genway-edge-secret": string(s)}, nil
}

func (edgeSecret) RequireTransportSecurity() bool { return false }
