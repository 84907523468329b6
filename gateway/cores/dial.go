package cores

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/target"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/health" // the client's side of health checks
	"google.golang.org/grpc/keepalive"
)

// A connection on which nothing was read for pingAfter is probed, and given up pingTimeout
// later, with the calls on it. A core allows a probe every 10 s (core.NewServer).
const (
	pingAfter   = 15 * time.Second
	pingTimeout = 5 * time.Second
)

// serviceConfig returns the service configuration: it has the balancer of this package, and health checks of the Generation service.
func serviceConfig() string {
	return fmt.Sprintf(`{"loadBalancingConfig": [{%q: {}}], "healthCheckConfig": {"serviceName": %q}}`, policy, genwayv1.Generation_ServiceDesc.ServiceName)
}

// Dial connects to the cores that the targets name, soon, and again whenever a connection is
// lost. A single core on a fixed address is connected to as gRPC does by itself, when it is
// first needed and without health checks: there is no other to go to. The credentials are the credentials of
// each connection. Proxies of the environment are not used.
func Dial(targets []target.Target, log *slog.Logger, creds credentials.TransportCredentials, options ...grpc.DialOption) (*Conn, error) {
	known := &knowledge{}
	// HTTPS_PROXY is for what is outside; a proxy would see the secret and the bodies of an edge without TLS.
	options = append(append(options, known.options()...), grpc.WithTransportCredentials(identified{creds}), grpc.WithNoProxy())
	if len(targets) == 1 && !targets[0].Each {
		one := &single{log: cmp.Or(log, slog.Default()), core: targets[0].String()}
		options = append(append(options, one.options(targets[0])...), grpc.WithDefaultServiceConfig(fmt.Sprintf(`{"loadBalancingConfig": [{%q: {}}]}`, oneCore)))
		conn, err := grpc.NewClient(targets[0].String(), options...)
		if err != nil {
			return nil, err
		}
		return &Conn{conn, known}, nil
	}
	options = append(options,
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.WithResolvers(builder{targets, newPool(log), lookup}),
		grpc.WithDefaultServiceConfig(serviceConfig()),
		grpc.WithChainUnaryInterceptor(sendElsewhere),
		grpc.WithChainStreamInterceptor(streamElsewhere),
	)
	conn, err := grpc.NewClient(schemeOfAll+":///cores", options...)
	if err != nil {
		return nil, err
	}
	conn.Connect()
	return &Conn{conn, known}, nil
}
