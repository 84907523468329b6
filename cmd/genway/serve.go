package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/cmd/internal/edgeproc"
	"golang.org/x/sync/errgroup"
)

type serveCommand struct {
	coreproc.CoreFlags
	edgeproc.EdgeFlags
	cli.Log
	FirstKeys string `env:"GENWAY_FIRST_KEYS" enum:"auto,print,file,none" default:"auto" help:"What the first start does about keys: print makes one a group and prints them, this once; file writes them into first-keys in the directory of the data, for its user alone; none makes none. auto, the default, prints on a terminal and writes a file elsewhere."`
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
	core, err := c.Open(ctx, log)
	if err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close())
	}
	limited, err := core.Limit(grpcListener, c.Connections)
	if err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close(), core.Close())
	}
	if err := c.greet(ctx, stdout, core, httpListener, grpcListener.Addr(), log); err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close(), core.Close())
	}
	log.Info("genway is up", "version", cli.Version(), httpListener.Scheme(), httpListener.Addr().String(), "grpc", grpcListener.Addr().String())
	ctx, release := cli.Delay(ctx, c.ShutdownDelay, log)
	defer release()
	defer cli.TellEnd(ctx, log, c.Grace)()
	c.UseGate(core.Gate())
	if err := c.UseTelemetry(core.Telemetry(), core.Board()); err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close(), core.Close())
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
	return errors.Join(group.Wait(), core.Close())
}

// greet prints the first keys or where they are, or where keys are managed.
func (c *serveCommand) greet(ctx context.Context, stdout io.Writer, core *coreproc.Core, http edgeproc.Listener, grpc net.Addr, log *slog.Logger) error {
	first, err := c.makeFirstKeys(ctx, stdout, core, log)
	if err != nil {
		return err
	}
	data := welcomeData{Models: core.Models(), Size: "1024x1024"}
	if c.Config == "" {
		data.Size = "256x256"
	}
	data.reach(http, grpc, c.Cert != "")
	data.DataFlag, err = c.Flag(os.Getenv)
	if err != nil {
		return err
	}
	if first.minted != nil {
		return printWelcome(stdout, data, first)
	}
	return printWelcomeBack(stdout, data)
}
