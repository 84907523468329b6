package gateway

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/genway/genway/internal/hop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// longestWait is how long the edge waits between attempts to reach a core that is
// away; gRPC's own patience grows to two minutes, in which a core is back in vain.
const longestWait = 2 * time.Second

// CoreConfig says where the core is and how the edge proves to be one.
type CoreConfig struct {
	// Target is a gRPC target: host:port, dns:///host:port, unix:///path.
	Target string
	// Secret is the shared edge secret; empty when a unix socket's permissions or
	// a client certificate are the proof.
	Secret string
	// TLS, if set, encrypts the hop and may carry the edge's certificate.
	TLS *tls.Config
}

// Dial connects to a core. The connection is made when it is first needed, and
// made again when it is lost.
func Dial(config CoreConfig) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(config.Target, config.options()...)
	if err != nil {
		return nil, fmt.Errorf("gateway: core target %q: %w", config.Target, err)
	}
	return conn, nil
}

func (c CoreConfig) options() []grpc.DialOption {
	transport := insecure.NewCredentials()
	if c.TLS != nil {
		transport = credentials.NewTLS(c.TLS)
	}
	options := append(hop.DialOptions(),
		grpc.WithTransportCredentials(transport),
		grpc.WithUserAgent("genway-edge"),
		grpc.WithConnectParams(grpc.ConnectParams{
			// A core that starts beside its edge is found as soon as it listens.
			Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: longestWait},
			MinConnectTimeout: 5 * time.Second,
		}),
		// A host that is gone without a word is noticed, and its calls fail.
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
