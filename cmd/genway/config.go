package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/sandbox"
)

type configCommand struct {
	Check  checkConfig  `cmd:"" help:"Read a file as the server would and say what is wrong with it."`
	Schema printsSchema `cmd:"" help:"Print the file's JSON Schema, for editors."`
}

type checkConfig struct {
	File string `arg:"" help:"The configuration file."`
}

// Run reads the file, and builds what it describes without calling anything.
func (c *checkConfig) Run(_ context.Context, stdout io.Writer) error {
	routing, err := load(c.File)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s is good\n", c.File)
	return routing.Close()
}

func load(file string) (*coreproc.Routing, error) {
	embedded, err := sandbox.New(sandbox.Config{})
	if err != nil {
		return nil, err
	}
	return coreproc.NewRouting(file, embedded, slog.New(slog.DiscardHandler))
}

type printsSchema struct{}

// Run prints the schema.
func (printsSchema) Run(_ context.Context, stdout io.Writer) error {
	_, err := fmt.Fprintf(stdout, "%s\n", config.Schema())
	return err
}
