// Command genway-edge is the edge alone: it maps the JSON protocols onto a core
// that runs elsewhere.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/edgeproc"
	"github.com/genway/genway/gateway"
)

type command struct {
	edgeproc.EdgeFlags
	cli.Log
	Core       string        `env:"GENWAY_CORE" default:"127.0.0.1:9090" placeholder:"TARGET" help:"The core: HOST:PORT, unix:PATH or another gRPC target."`
	SecretFile string        `name:"edge-secret-file" env:"GENWAY_EDGE_SECRET_FILE" type:"existingfile" placeholder:"FILE" help:"File with the secret shared with the core. Needed unless the core is on a unix socket or asks for a certificate."`
	CA         string        `name:"core-ca" env:"GENWAY_CORE_CA" type:"existingfile" placeholder:"FILE" help:"PEM certificates that the core's is checked against; turns TLS on."`
	Cert       string        `name:"core-cert" env:"GENWAY_CORE_CERT" type:"existingfile" placeholder:"FILE" help:"PEM certificate the edge shows to the core."`
	Key        string        `name:"core-key" env:"GENWAY_CORE_KEY" type:"existingfile" placeholder:"FILE" help:"PEM key of that certificate."`
	Grace      time.Duration `env:"GENWAY_GRACE" default:"20s" help:"How long requests in flight may go on after the end was asked for."`
}

func main() {
	os.Exit(cli.Main(program()))
}

func program() cli.Program {
	return cli.Program{
		Name:        "genway-edge",
		Description: "The edge of Genway: five JSON protocols in, one gRPC service out.",
		Grammar:     &command{},
	}
}

// Run serves until ctx ends.
func (c *command) Run(ctx context.Context, _ io.Writer) error {
	config, err := c.core()
	if err != nil {
		return err
	}
	conn, err := gateway.Dial(config)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	listener, err := c.ListenHTTP(ctx)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	log, written := c.Logger()
	defer written()
	cli.TuneMemory()
	log.Info("edge is up", "version", cli.Version(), "http", listener.Addr().String(), "core", c.Core)
	defer cli.TellEnd(ctx, log, c.Grace)()
	return errors.Join(c.Serve(ctx, listener, conn, c.Grace, log), conn.Close())
}

func (c *command) core() (gateway.CoreConfig, error) {
	config := gateway.CoreConfig{Target: c.Core}
	if c.SecretFile != "" {
		secret, err := os.ReadFile(c.SecretFile)
		if err != nil {
			return config, fmt.Errorf("--edge-secret-file: %w", err)
		}
		if config.Secret = strings.TrimSpace(string(secret)); config.Secret == "" {
			return config, fmt.Errorf("--edge-secret-file %s: the file is empty", c.SecretFile)
		}
	}
	if c.CA == "" && c.Cert == "" && c.Key == "" {
		return config, nil
	}
	config.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return config, fmt.Errorf("--core-ca: %w", err)
		}
		config.TLS.RootCAs = x509.NewCertPool()
		if !config.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return config, fmt.Errorf("--core-ca %s: no certificate in it", c.CA)
		}
	}
	if (c.Cert == "") != (c.Key == "") {
		return config, cli.UsageError{Err: errors.New("--core-cert and --core-key go together")}
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return config, fmt.Errorf("--core-cert: %w", err)
		}
		config.TLS.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
