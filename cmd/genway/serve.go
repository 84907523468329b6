package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/consoleproc"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/cmd/internal/edgeproc"
	"github.com/genway/genway/console"
	"github.com/genway/genway/internal/transport/pipe"
	"golang.org/x/sync/errgroup"
)

type serveCommand struct {
	coreproc.CoreFlags
	edgeproc.EdgeFlags
	cli.Log
	Console string `env:"GENWAY_CONSOLE" default:"auto" placeholder:"ADDR" help:"Address of the console: HOST:PORT, unix:PATH or off. auto, the default, is 127.0.0.1:8088, or none where that port is taken."`
	consoleproc.Flags
	FirstKeys string `env:"GENWAY_FIRST_KEYS" enum:"auto,print,file,none" default:"auto" help:"What the first start does about keys. print creates one key for each group and prints them, once; file writes them to the file first-keys in the data directory, readable by its user only; none creates none. auto, the default, prints on a terminal and writes the file elsewhere."`
}

// Run serves until ctx ends. Both sides end together; the last requests of the edge
// still have the core, which they reach without its listener.
func (c *serveCommand) Run(ctx context.Context, stdout io.Writer) error {
	log, written := c.Logger()
	cli.UseForGRPC(log)
	defer written()
	cli.TuneMemory()
	grpcListener, err := c.ListenGRPC(ctx)
	if err != nil {
		return err
	}
	httpListener, err := c.ListenHTTP(ctx)
	if err != nil {
		return errors.Join(err, grpcListener.Close())
	}
	pages, err := consoleproc.Listen(ctx, c.Console, consoleTLS(httpListener), log)
	if err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close())
	}
	core, err := c.Open(ctx, log)
	if err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close(), pages.Close())
	}
	limited, err := core.Limit(grpcListener, c.Connections)
	if err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close(), pages.Close(), core.Close())
	}
	reached, err := c.greet(ctx, stdout, core, listeners{httpListener, grpcListener.Addr(), pages}, log)
	if err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close(), pages.Close(), core.Close())
	}
	log.Info("genway is up", "version", cli.Version(), httpListener.Scheme(), httpListener.Addr().String(), "grpc", grpcListener.Addr().String())
	ctx, release := cli.Delay(ctx, c.ShutdownDelay, log)
	defer release()
	defer cli.TellEnd(ctx, log, c.Grace)()
	c.UseGate(core.Gate())
	c.UseTelemetry(core.Telemetry(), core.Board())
	var gatewayOf func(context.Context, netip.Addr) (net.Conn, error)
	if pages != nil {
		inside := pipe.NewListener()
		c.UseInside(inside)
		gatewayOf = inside.Dial
	}
	var group errgroup.Group
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error {
		defer stop()
		return c.Serve(ctx, httpListener, core.Channel(), c.Grace, log, core.CountConnection)
	})
	group.Go(func() error {
		defer stop()
		return core.Serve(ctx, limited)
	})
	group.Go(func() error {
		return consoleproc.Serve(ctx, pages, core, console.Config{Admin: core.AdminChannel(), Generation: core.DirectChannel(), Gateway: gatewayOf, Hosts: c.ConsoleHosts, Base: reached.HTTP, GRPC: reached.GRPC, Version: cli.Version(), Logger: log}) //nolint:contextcheck // each call has its own
	})
	return errors.Join(group.Wait(), core.Close())
}

// consoleTLS is how the console encrypts: as the JSON side.
func consoleTLS(http edgeproc.Listener) *tls.Config {
	if http.Certificates == nil {
		return nil
	}
	return http.Certificates.Server(&tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
}

// listeners are where a server can be reached.
type listeners struct {
	http  edgeproc.Listener
	grpc  net.Addr
	pages *consoleproc.Listener
}

// greet prints the first keys or where they are, or where keys are managed, and how the server
// is reached, which it returns.
func (c *serveCommand) greet(ctx context.Context, stdout io.Writer, core *coreproc.Core, at listeners, log *slog.Logger) (welcomeData, error) {
	data := welcomeData{Models: core.Models(), Size: "1024x1024"}
	if c.Config == "" {
		data.Size = "256x256"
	}
	data.reach(at.http, at.grpc, c.Cert != "")
	if at.pages != nil {
		data.Console = at.pages.URL()
	}
	var err error
	if data.DataFlag, err = c.Flag(os.Getenv); err != nil {
		return data, err
	}
	if welcomed, err := c.makeFirstKeys(ctx, stdout, core, data, log); err != nil || welcomed {
		return data, err
	}
	return data, printWelcomeBack(stdout, data)
}
