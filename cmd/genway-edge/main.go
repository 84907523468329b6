// Command genway-edge is the edge by itself: it maps the JSON protocols onto cores
// that run elsewhere.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/edgeproc"
	"github.com/genway/genway/cmd/internal/health"
	"github.com/genway/genway/gateway"
	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/telemetry"
	"github.com/genway/genway/telemetry/flight"
)

type command struct {
	health.Action
	edgeproc.EdgeFlags
	cli.Log
	cli.Overload
	cli.Telemetry
	Core       []string      `env:"GENWAY_CORE" default:"127.0.0.1:9090" placeholder:"TARGET" group:"Cores:" help:"The cores: HOST:PORT, dns:///HOST:PORT for a core at each address of the name, or unix:PATH."`
	SecretFile string        `name:"edge-secret-file" env:"GENWAY_EDGE_SECRET_FILE" type:"existingfile" placeholder:"FILE" group:"Cores:" help:"File with the secret shared with the core. Needed unless the core is on a unix socket or asks for a certificate."`
	CA         string        `name:"core-ca" env:"GENWAY_CORE_CA" type:"existingfile" placeholder:"FILE" group:"Cores:" help:"PEM certificates of the authority that issued the core's certificate; turns TLS on."`
	Cert       string        `name:"core-cert" env:"GENWAY_CORE_CERT" type:"existingfile" placeholder:"FILE" group:"Cores:" help:"PEM certificate that the edge presents to the core."`
	Key        string        `name:"core-key" env:"GENWAY_CORE_KEY" type:"existingfile" placeholder:"FILE" group:"Cores:" help:"PEM key of that certificate."`
	Grace      time.Duration `env:"GENWAY_GRACE" default:"20s" least:"0s" group:"Start and end:" help:"How long requests in flight may continue after SIGTERM."`

	ShutdownDelay time.Duration `env:"GENWAY_SHUTDOWN_DELAY" least:"0s" placeholder:"D" group:"Start and end:" help:"How long to serve after SIGTERM while not ready, for load balancers. Default: 0s."`
}

func main() {
	os.Exit(cli.Main(program()))
}

func program() cli.Program {
	return cli.Program{
		Name:        "genway-edge",
		Description: "The edge of Genway: six JSON protocols in, one gRPC service out.",
		Grammar:     &command{},
	}
}

// Run serves until ctx ends, or asks a server.
func (c *command) Run(ctx context.Context, stdout io.Writer) error {
	if c.Asked() {
		return health.Run(ctx, stdout, health.Target{Check: health.Edge, Address: c.HTTP, Encrypted: len(c.HTTPCert) > 0})
	}
	config, err := c.core()
	if err != nil {
		return err
	}
	certificates, err := c.certificates()
	if err != nil {
		return err
	}
	if certificates != nil {
		config.TLS = func() *tls.Config { return certificates.Client(&tls.Config{MinVersion: tls.VersionTLS13}) }
	}
	log, written := c.Logger()
	cli.UseForGRPC(log)
	defer written()
	config.Logger = log
	conn, err := gateway.Dial(config)
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("--core: %w", err)}
	}
	listener, err := c.ListenHTTP(ctx)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	tel, err := c.observe(ctx, log)
	if err != nil {
		return errors.Join(err, listener.Close(), conn.Close())
	}
	cli.TuneMemory(c.Debug != "")
	log.Info("edge is up", "version", cli.Version(), listener.Scheme(), listener.Addr().String(), "core", strings.Join(c.Core, ","))
	ctx, release := cli.Delay(ctx, c.ShutdownDelay, log)
	defer release()
	defer cli.TellEnd(ctx, log, c.Grace)()
	var following sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	if certificates != nil {
		following.Go(func() { certs.Follow(ctx, log, certificates) })
	}
	edge := c.Instruments()
	gate := c.Gate(log, func(signal overload.Signal, p overload.Priority, n int64) { edge.Shed(signal.String(), p.String(), n) })
	c.UseGate(gate)
	following.Go(func() { gate.Run(ctx) })
	err = c.Serve(ctx, listener, conn, c.Grace, log, edge.Connection)
	stop()
	following.Wait()
	err = errors.Join(err, conn.Close())
	tel.Close()
	return err
}

// observe sets up the edge's telemetry, and opens its listeners.
func (c *command) observe(ctx context.Context, log *slog.Logger) (*telemetry.Telemetry, error) {
	tel, err := c.StartTelemetry(ctx, cli.ProgramName(), log)
	if err != nil {
		return nil, err
	}
	var board *flight.Board
	if c.Debug != "" {
		board = flight.NewBoard()
	}
	var pages edgeproc.Pages
	if pages.Metrics, err = c.ListenMetrics(ctx); err == nil {
		pages.Debug, err = c.ListenDebug(ctx)
	}
	if err != nil {
		for _, listener := range []net.Listener{pages.Metrics, pages.Debug} {
			if listener != nil {
				err = errors.Join(err, listener.Close())
			}
		}
		tel.Close()
		return nil, err
	}
	c.UseTelemetry(tel, board)
	c.ServePages(pages)
	return tel, nil
}

func (c *command) core() (gateway.CoreConfig, error) {
	config := gateway.CoreConfig{Targets: c.Core}
	if c.SecretFile != "" {
		secret, err := os.ReadFile(c.SecretFile)
		if err != nil {
			return config, fmt.Errorf("--edge-secret-file: %w", err)
		}
		if config.Secret = strings.TrimSpace(string(secret)); config.Secret == "" {
			return config, fmt.Errorf("--edge-secret-file %s: the file is empty", c.SecretFile)
		}
	}
	return config, nil
}

// certificates are used on connections to the core; nil is cleartext.
func (c *command) certificates() (*certs.Source, error) {
	var files certs.Files
	switch {
	case (c.Cert == "") != (c.Key == ""):
		return nil, cli.UsageError{Err: errors.New("--core-cert and --core-key go together")}
	case c.CA == "" && c.Cert == "":
		return nil, nil //nolint:nilnil // no TLS is no error
	}
	if c.Cert != "" {
		files.Pairs = []certs.Pair{{Cert: c.Cert, Key: c.Key}}
	}
	if c.CA != "" {
		files.Authorities = []string{c.CA}
	}
	source, err := certs.Open(files)
	if err != nil {
		return nil, fmt.Errorf("TLS to --core: %w", err)
	}
	return source, nil
}
