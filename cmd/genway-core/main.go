// Command genway-core is the core alone: the Generation service over gRPC, for
// edges and for direct callers.
package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/cmd/internal/health"
)

type command struct {
	health.Action
	coreproc.CoreFlags
	cli.Connections
	cli.Log
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
	cli.TuneMemory()
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
	log.Info("core is up", "version", cli.Version(), "grpc", listener.Addr().String())
	ctx, release := cli.Delay(ctx, c.ShutdownDelay, log)
	defer release()
	defer cli.TellEnd(ctx, log, c.Grace)()
	return errors.Join(core.Serve(ctx, limited), core.Close())
}
