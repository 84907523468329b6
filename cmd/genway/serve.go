package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/cmd/internal/edgeproc"
	"github.com/genway/genway/core/keys"
	"golang.org/x/sync/errgroup"
)

type serveCommand struct {
	coreproc.CoreFlags
	edgeproc.EdgeFlags
	cli.Log
	FirstKeys string `env:"GENWAY_FIRST_KEYS" enum:"print,none" help:"What the first start does about keys: print, the default, makes one a group and prints them, this once; none makes none."`
}

// Run serves until ctx ends. Both sides end together; the last requests of the edge
// still have the core, which they reach without its listener.
func (c *serveCommand) Run(ctx context.Context, stdout io.Writer) error {
	log, written := c.Logger()
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
	if err := c.greet(ctx, stdout, core, httpListener.Addr(), grpcListener.Addr()); err != nil {
		return errors.Join(err, grpcListener.Close(), httpListener.Close(), core.Close())
	}
	log.Info("genway is up", "version", cli.Version(), "http", httpListener.Addr().String(), "grpc", grpcListener.Addr().String())
	defer cli.TellEnd(ctx, log, c.Grace)()
	var group errgroup.Group
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() error {
		defer stop()
		return c.Serve(ctx, httpListener, core.Channel(), c.Grace, log)
	})
	group.Go(func() error {
		defer stop()
		return core.Serve(ctx, grpcListener)
	})
	return errors.Join(group.Wait(), core.Close())
}

// noFirstKeys is the FirstKeys that makes none.
const noFirstKeys = "none"

// greet prints the first keys, or where keys are managed.
func (c *serveCommand) greet(ctx context.Context, stdout io.Writer, core *coreproc.Core, http, grpc net.Addr) error {
	var minted map[keys.Group]string
	var first bool
	var err error
	if c.FirstKeys != noFirstKeys {
		if minted, first, err = core.Keys.MintDefaults(ctx); err != nil {
			return err
		}
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
	if first {
		return printWelcome(stdout, data, minted)
	}
	return printWelcomeBack(stdout, data)
}
