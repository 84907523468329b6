// Command genway-core is the core by itself: the Generation service over gRPC, for
// edges and for direct callers.
package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/consoleproc"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/cmd/internal/health"
	"github.com/genway/genway/console"
	"golang.org/x/sync/errgroup"
)

type command struct {
	health.Action
	coreproc.CoreFlags
	cli.Connections
	cli.Log
	Console string `env:"GENWAY_CONSOLE" default:"off" placeholder:"ADDR" group:"Console:" help:"Address of the console: HOST:PORT, unix:PATH, auto (127.0.0.1:8088 if that port is free) or off, the default."`
	consoleproc.Flags
}

func main() {
	os.Exit(cli.Main(program()))
}

func program() cli.Program {
	return cli.Program{
		Name:        "genway-core",
		Description: "The core of Genway: one gRPC service for text and images.",
		Grammar:     &command{},
	}
}

// Run serves until ctx ends, or asks a server.
func (c *command) Run(ctx context.Context, stdout io.Writer) error {
	if c.Asked() {
		return health.Run(ctx, stdout, health.Target{Check: health.Core, Address: c.GRPC, Encrypted: c.Cert != ""})
	}
	log, written := c.Logger()
	cli.UseForGRPC(log)
	defer written()
	cli.TuneMemory(c.Debug != "")
	listener, err := c.ListenGRPC(ctx)
	if err != nil {
		return err
	}
	core, err := c.Open(ctx, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	limited, err := core.Limit(listener, c.Connections)
	if err != nil {
		return errors.Join(err, listener.Close(), core.Close())
	}
	pages, err := consoleproc.Listen(ctx, c.Console, core.ConsoleTLS(), log)
	if err != nil {
		return errors.Join(err, listener.Close(), core.Close())
	}
	log.Info("core is up", "version", cli.Version(), "grpc", listener.Addr().String())
	ctx, release := cli.Delay(ctx, c.ShutdownDelay, log)
	defer release()
	defer cli.TellEnd(ctx, log, c.Grace)()
	var group errgroup.Group
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error {
		return c.ServeConsole(ctx, pages, core, console.Config{Admin: core.AdminChannel(), Generation: core.DirectChannel(), Version: cli.Version(), Logger: log}) //nolint:contextcheck // each call has its own
	})
	group.Go(func() error {
		defer stop()
		return core.Serve(ctx, limited)
	})
	return errors.Join(group.Wait(), core.Close())
}
