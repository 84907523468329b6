// Package health asks a server of this machine whether it is ready, as the health checks
// of containers and scripts do.
package health

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Within bounds a check: connecting, the handshake and the answer.
const Within = 3 * time.Second

// ErrNotReady is returned if a server answers that it is not ready.
var ErrNotReady = errors.New("not ready")

// trustItself is for connections of a process to a server that has the same settings,
// on the same machine: its certificate is for the name that others use.
//
//nolint:gosec // see above; nothing secret is sent
var trustItself = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}

// Edge asks /readyz of the JSON side that listens on address: HOST:PORT or unix:PATH. The
// error wraps ErrNotReady and names the parts that fail if the edge is not ready.
func Edge(ctx context.Context, address string, encrypted bool) error {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	network, dialled := dialable(address)
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, dialled)
		},
		TLSClientConfig: trustItself,
	}
	defer transport.CloseIdleConnections()
	scheme := "http"
	if encrypted {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://localhost/readyz", nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("the JSON side on %s: %w", address, err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: the JSON side on %s answers %s: %s", ErrNotReady, address, response.Status, bytes.TrimSpace(body))
	}
	return nil
}

// Core asks the health service of the gRPC side that listens on address: HOST:PORT or
// unix:PATH. The error wraps ErrNotReady if the core answers that it does not serve.
func Core(ctx context.Context, address string, encrypted bool) error {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	creds := insecure.NewCredentials()
	if encrypted {
		creds = credentials.NewTLS(trustItself)
	}
	network, dialled := dialable(address)
	conn, err := grpc.NewClient("passthrough:///localhost", grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, dialled)
		}))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it was only asked
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: genwayv1.Generation_ServiceDesc.ServiceName})
	if err != nil {
		return fmt.Errorf("the gRPC side on %s: %w", address, err)
	}
	if status := answer.GetStatus(); status != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("%w: the gRPC side on %s answers %s", ErrNotReady, address, status)
	}
	return nil
}

// dialable returns where a listener on address is reached from this machine: an address
// that means every interface is the loopback.
func dialable(address string) (network, dialled string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", strings.TrimPrefix(path, "//")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "tcp", address
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "tcp", net.JoinHostPort(host, port)
}

// Action is the argument of a program that serves, and that containers can ask by its own
// binary whether the one that runs is ready: `genway-core health`.
type Action struct {
	Action string `arg:"" optional:"" enum:"serve,health" default:"serve" help:"serve, the default, or health: ask the server that runs with the same settings whether it is ready. Exits with 0 if it is."`
}

// Asked is whether the program is to ask rather than to serve.
func (a Action) Asked() bool { return a.Action == "health" }

// Check is one server that is asked, such as Edge.
type Check func(ctx context.Context, address string, encrypted bool) error

// Target is a listener, and the check that its kind takes.
type Target struct {
	Check     Check
	Address   string
	Encrypted bool
}

// Run asks each target in turn and prints that all are ready. The error names all that are
// not.
func Run(ctx context.Context, stdout io.Writer, targets ...Target) error {
	var failed []error
	for _, target := range targets {
		if err := target.Check(ctx, target.Address, target.Encrypted); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	_, err := fmt.Fprintln(stdout, "ready")
	return err
}
