package main

import (
	"context"
	"errors"
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
func (c *checkConfig) Run(stdout io.Writer) error {
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
func (printsSchema) Run(stdout io.Writer) error {
	schema, err := config.Schema()
	if err == nil {
		_, err = fmt.Fprintf(stdout, "%s\n", schema)
	}
	return err
}

type routesCommand struct {
	Explain explainRoute `cmd:"" help:"Say which targets a model would be tried at, in order, and by which route."`
}

type explainRoute struct {
	Config   string `env:"GENWAY_CONFIG" placeholder:"FILE" help:"The configuration file."`
	Protocol string `enum:"chat,responses,messages,generatecontent,images,grpc" default:"chat" help:"Protocol of the caller: chat, responses, messages, generatecontent, images or grpc."`
	Model    string `arg:"" help:"The model, as the caller names it."`
}

// Run explains one request.
func (c *explainRoute) Run(_ context.Context, stdout io.Writer) (err error) {
	routing, err := load(c.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, routing.Close()) }()
	e := routing.Router.Explain(coreproc.Protocols[c.Protocol], c.Model)
	if e.Route < 0 {
		return fmt.Errorf("no route matches model %s of %s callers", c.Model, c.Protocol)
	}
	if len(e.Targets) == 0 {
		return fmt.Errorf("route %d, model %s: it has no target for %s callers of that model", e.Route, e.Model, c.Protocol)
	}
	fmt.Fprintf(stdout, "route %d, model %s\n", e.Route, e.Model)
	for i, t := range e.Targets {
		fmt.Fprintf(stdout, "  %d. %s\n", i+1, t)
	}
	return nil
}
