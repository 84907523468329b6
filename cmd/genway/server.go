package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/consoleproc"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/cmd/internal/health"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// serverFlags name the core whose Admin service is asked, in place of a store.
type serverFlags struct {
	Server        string `env:"GENWAY_ADMIN_SERVER" placeholder:"ADDR" help:"Use the Admin service of a running core, at HOST:PORT or unix:PATH, instead of the store and the files of this machine. The connection uses TLS unless the core is on this machine."`
	ServerKeyFile string `env:"GENWAY_ADMIN_KEY_FILE" type:"existingfile" placeholder:"FILE" help:"File with a key of the group admin, for --server."`
	ServerCA      string `name:"server-ca" env:"GENWAY_ADMIN_CA" type:"existingfile" placeholder:"FILE" help:"PEM certificates of the authority that issued --server's certificate. Default: the system's."`
}

// ask runs do on the keys of the server.
func (f serverFlags) ask(ctx context.Context, do func(context.Context, keyring) error) error {
	if f.ServerKeyFile == "" {
		return cli.UsageError{Err: errors.New("--server needs --server-key-file")}
	}
	text, err := os.ReadFile(f.ServerKeyFile)
	if err != nil {
		return fmt.Errorf("--server-key-file: %w", err)
	}
	raw := strings.TrimSpace(string(text))
	if err := keys.Valid(raw); err != nil {
		return fmt.Errorf("--server-key-file %s: %w", f.ServerKeyFile, err)
	}
	transport, err := f.transport()
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(f.Server, grpc.WithTransportCredentials(transport), grpc.WithPerRPCCredentials(adminKey(raw)), grpc.WithUserAgent("genway"))
	if err != nil {
		return fmt.Errorf("--server: %w", err)
	}
	return errors.Join(do(ctx, admin.Client{Admin: adminv1.NewAdminClient(conn)}), conn.Close())
}

// transport encrypts, unless the server is on this machine and no authority is given.
func (f serverFlags) transport() (credentials.TransportCredentials, error) {
	if f.ServerCA == "" && onThisMachine(f.Server) {
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if f.ServerCA != "" {
		pem, err := os.ReadFile(f.ServerCA)
		if err != nil {
			return nil, fmt.Errorf("--server-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--server-ca %s: no certificate in it", f.ServerCA)
		}
	}
	return credentials.NewTLS(config), nil
}

// onThisMachine reports whether nothing of a connection leaves this machine.
func onThisMachine(server string) bool {
	if strings.HasPrefix(server, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// adminKey shows a key with each call.
type adminKey string

func (k adminKey) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(k)}, nil
}

// RequireTransportSecurity leaves that to transport.
func (adminKey) RequireTransportSecurity() bool { return false }

type consoleCommand struct {
	Link consoleLink `cmd:"" help:"Print a link that signs in to the console. It works once, within 15 minutes."`
}

type consoleLink struct {
	coreproc.Data
	URL      string `name:"url" env:"GENWAY_CONSOLE_URL" placeholder:"URL" help:"Where browsers reach the console. Default: 127.0.0.1, by the port of --console, else 8088."`
	Console  string `env:"GENWAY_CONSOLE" placeholder:"ADDR" help:"Address of the console, as given to serve, for the default of --url."`
	ReadOnly bool   `help:"Sign in as a viewer, who can change nothing."`

	ReadCaptures bool `help:"Give the right to read captured bodies."`
}

// Run prints a link and nothing else, and then makes it in the store, which must exist.
func (c *consoleLink) Run(ctx context.Context, stdout io.Writer) error {
	if c.URL == "" {
		_, port, err := net.SplitHostPort(cmp.Or(c.Console, consoleproc.DefaultAddress))
		if err != nil || strings.HasPrefix(c.Console, "unix:") { // auto, off, or a socket
			_, port, _ = net.SplitHostPort(consoleproc.DefaultAddress)
		}
		c.URL = "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	return c.WithKeys(ctx, func(ring *keys.Service) error {
		drawn, raw, err := keys.Draw(rand.Reader)
		if err != nil {
			return err
		}
		return handOver(stdout, signInLink(strings.TrimRight(c.URL, "/"), raw)+"\n", func() error {
			_, err := ring.StartSession(audit.WithActor(ctx, actor()), keys.SessionParams{Link: true, ReadOnly: c.ReadOnly, ReadCaptures: c.ReadCaptures, Drawn: drawn})
			return err
		})
	})
}

type healthCommand struct {
	HTTP     string   `name:"http" env:"GENWAY_HTTP" default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address of the JSON side, as given to serve."`
	HTTPCert []string `name:"http-cert" env:"GENWAY_HTTP_CERT" placeholder:"FILE" help:"Certificate of the JSON side, as given to serve. It turns TLS on; the file is not read."`
	GRPC     string   `name:"grpc" env:"GENWAY_GRPC" default:"127.0.0.1:9090" placeholder:"ADDR" help:"Address of the gRPC side, as given to serve."`
	GRPCCert string   `name:"grpc-cert" env:"GENWAY_GRPC_CERT" placeholder:"FILE" help:"Certificate of the gRPC side, as given to serve. It turns TLS on; the file is not read."`
}

// Run asks both sides of the server.
func (c *healthCommand) Run(ctx context.Context, stdout io.Writer) error {
	return health.Run(ctx, stdout,
		health.Target{Check: health.Edge, Address: c.HTTP, Encrypted: len(c.HTTPCert) > 0},
		health.Target{Check: health.Core, Address: c.GRPC, Encrypted: c.GRPCCert != ""})
}
