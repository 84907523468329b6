package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/sandbox"
)

type configCommand struct {
	Check  checkConfig  `cmd:"" help:"Validate a file as the server does. Lists all errors, warnings about likely mistakes, and the addresses that will be called."`
	Schema printsSchema `cmd:"" help:"Print the file's JSON Schema, for editors."`
}

type checkConfig struct {
	File   string `arg:"" help:"The configuration file."`
	NoEnv  bool   `name:"no-env" help:"Keep $${NAME} as text instead of reading the environment, and accept missing files. For machines without the secrets; what depends on them is not checked."`
	Strict bool   `help:"Fail on warnings, too."`
}

// errWarned fails a strict check; the warnings themselves are printed before it.
var errWarned = errors.New("there are warnings")

// Run reads the file, and builds what it describes without calling anything. It reports
// all mistakes at once, a line each.
func (c *checkConfig) Run(_ context.Context, stdout io.Writer) error {
	getenv := os.LookupEnv
	if c.NoEnv {
		getenv = nil
	}
	read, err := config.Load(c.File, getenv)
	if err != nil {
		return mistakes(c.File, err)
	}
	var called map[string]coreproc.Called
	if c.NoEnv {
		err = checkPricesOf(read.Prices)
	} else {
		var routing *coreproc.Routing
		if routing, err = load(c.File); err == nil {
			called = routing.Called()
			err = routing.Close()
		}
	}
	if err != nil {
		return err
	}
	warnings := read.Warnings()
	for _, w := range warnings {
		fmt.Fprintf(stdout, "warning: %v\n", w)
	}
	fmt.Fprintf(stdout, "%s is good\n", c.File)
	for _, name := range slices.Sorted(maps.Keys(called)) {
		fmt.Fprintf(stdout, "upstream %s: calls %s\n", name, called[name].URL("MODEL"))
	}
	if c.Strict && len(warnings) > 0 {
		return errWarned
	}
	return nil
}

// mistakes returns an error that lists all mistakes of a file, a line each.
func mistakes(file string, err error) error {
	all, ok := errors.AsType[config.Errors](err)
	if !ok || len(all) == 1 {
		return err
	}
	lines := []string{fmt.Sprintf("%s has %d mistakes", file, len(all))}
	for _, e := range all {
		lines = append(lines, e.Error())
	}
	return errors.New(strings.Join(lines, "\n"))
}

// checkPricesOf reads a file of prices, unless its name is not known or it is missing.
func checkPricesOf(file string) error {
	if file == "" || strings.Contains(file, "${") {
		return nil
	}
	_, err := price.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func load(file string) (*coreproc.Routing, error) {
	embedded := sandbox.New(sandbox.Config{})
	return coreproc.NewRouting(file, embedded, nil, slog.New(slog.DiscardHandler))
}

type printsSchema struct{}

// Run prints the schema.
func (printsSchema) Run(_ context.Context, stdout io.Writer) error {
	_, err := fmt.Fprintf(stdout, "%s\n", config.Schema())
	return err
}
