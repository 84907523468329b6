package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/genway/genway/core/config/foreign"
)

type importCommand struct {
	Bifrost importBifrost `cmd:"" help:"Convert Bifrost's config.json to a configuration on standard output. Standard error says of each setting whether it is exact, left to be done (manual) or unsupported."`
	Litellm importLitellm `cmd:"" help:"Convert LiteLLM's config.yaml in the same way."`
}

// importFlags are the flags of the import of any source.
type importFlags struct {
	File   string `arg:"" type:"existingfile" help:"The configuration to convert."`
	DryRun bool   `help:"Print what becomes of each setting to standard output, and no configuration."`
}

type importLitellm struct{ importFlags }

// Run converts the file.
func (c *importLitellm) Run(_ context.Context, stdout io.Writer) error {
	return c.convert(stdout, os.Stderr, foreign.LiteLLM)
}

type importBifrost struct{ importFlags }

// Run converts the file.
func (c *importBifrost) Run(_ context.Context, stdout io.Writer) error {
	return c.convert(stdout, os.Stderr, foreign.Bifrost)
}

// convert prints the configuration, and what has become of each path of the source as FILE:LINE:COLUMN, its class and path.
func (c importFlags) convert(stdout, stderr io.Writer, by func(file string, text []byte) (*foreign.Result, error)) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	made, err := by(c.File, text)
	if err != nil {
		return err
	}
	report := stderr
	if c.DryRun {
		report = stdout
	}
	for _, f := range made.Findings {
		if _, err := fmt.Fprintf(report, "%s:%d:%d: %s: %s: %s\n", c.File, f.Line, f.Column, f.Class, f.Path, f.Text); err != nil {
			return err
		}
	}
	if made.Config == nil {
		return errors.New("no route can be made of it: the findings say why")
	}
	if c.DryRun {
		return nil
	}
	_, err = stdout.Write(made.Config)
	return err
}
