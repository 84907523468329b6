// Command genway-core is the core alone: the Generation service over gRPC, for
// edges and for direct callers.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/alecthomas/kong"
	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
)

type command struct {
	coreproc.CoreFlags
	cli.Log
	Version kong.VersionFlag `help:"Print the version."`
}

func main() {
	os.Exit(cli.Main("genway-core", "The core of Genway: one gRPC service for text and images.", &command{}))
}

// Run serves until ctx ends.
func (c *command) Run(ctx context.Context) error {
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
	log.Info("core is up", "grpc", listener.Addr().String())
	defer cli.TellEnd(ctx, log, c.Grace)()
	return errors.Join(core.Serve(ctx, listener), core.Close())
}
