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
)

type command struct {
	coreproc.CoreFlags
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

// Run serves until ctx ends.
func (c *command) Run(ctx context.Context, _ io.Writer) error {
	log, written := c.Logger()
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
	log.Info("core is up", "version", cli.Version(), "grpc", listener.Addr().String())
	defer cli.TellEnd(ctx, log, c.Grace)()
	return errors.Join(core.Serve(ctx, listener), core.Close())
}
