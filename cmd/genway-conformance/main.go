// Command genway-conformance holds a server of genway.v1.Generation to the contract: a core, an upstream
// or a gateway of any make. It prints a line for each check and exits with 1 if one fails.
//
// It is a program of its own, since those who run it have no gateway: they build on the contract.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/health/grpc_health_v1"
)

type command struct {
	Target     string        `arg:"" help:"The server: HOST:PORT, dns:///HOST:PORT or unix:PATH."`
	Key        string        `env:"GENWAY_KEY" placeholder:"KEY" help:"The API key, sent as Bearer in the metadata authorization. Without it, keys are not checked."`
	TextModel  string        `placeholder:"NAME" help:"The model for text. Default: the first of ListModels that generates text."`
	ImageModel string        `placeholder:"NAME" help:"The model for images. Default: the first of ListModels that generates images; without one, images are not checked."`
	TLS        bool          `name:"tls" help:"Connect by TLS."`
	CA         string        `name:"ca" type:"existingfile" placeholder:"FILE" help:"PEM certificates of the authority that issued the server's certificate; turns TLS on. Default: the system's."`
	Cert       string        `type:"existingfile" placeholder:"FILE" help:"PEM certificate to present to the server; turns TLS on."`
	CertKey    string        `type:"existingfile" placeholder:"FILE" help:"PEM key of that certificate."`
	Timeout    time.Duration `default:"60s" least:"1s" placeholder:"D" help:"The deadline of each call."`
}

func main() {
	os.Exit(cli.Main(program()))
}

func program() cli.Program {
	return cli.Program{
		Name:        "genway-conformance",
		Description: "Hold a server of genway.v1.Generation to the contract: a line for each check, and exit code 1 if one fails.",
		Grammar:     &command{},
	}
}

// Run runs the checks. The error says how many failed.
func (c *command) Run(ctx context.Context, stdout io.Writer) error {
	creds, err := c.credentials()
	if err != nil {
		return cli.UsageError{Err: err}
	}
	conn, err := grpc.NewClient(c.Target, grpc.WithTransportCredentials(creds), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return cli.UsageError{Err: err}
	}
	k := &kit{
		client: genwayv1.NewGenerationClient(conn), health: grpc_health_v1.NewHealthClient(conn),
		key: c.Key, timeout: c.Timeout, textModel: c.TextModel, imageModel: c.ImageModel,
	}
	return errors.Join(k.run(ctx, stdout), conn.Close())
}

func (c *command) credentials() (credentials.TransportCredentials, error) {
	if (c.Cert == "") != (c.CertKey == "") {
		return nil, errors.New("--cert and --cert-key belong together")
	}
	if !c.TLS && c.CA == "" && c.Cert == "" {
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca %s: the file has no certificate", c.CA)
		}
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.CertKey)
		if err != nil {
			return nil, fmt.Errorf("--cert %s: %w", c.Cert, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}
