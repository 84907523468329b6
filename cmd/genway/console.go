package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
)

type consoleCommand struct {
	Link consoleLink `cmd:"" help:"Print a link that signs in to the console. It works once, within 15 minutes."`
}

type consoleLink struct {
	coreproc.Data
	URL      string `name:"url" default:"http://127.0.0.1:8088" help:"Address of the console."`
	ReadOnly bool   `help:"Sign in as a viewer, who can change nothing."`

	ReadCaptures bool `help:"Give the right to read captured bodies."`
}

// Run makes a link in the store, which must exist, and prints it and nothing else.
func (c *consoleLink) Run(ctx context.Context, stdout io.Writer) error {
	return c.WithKeys(ctx, func(ring *keys.Service) error {
		made, err := ring.StartSession(audit.WithActor(ctx, actor()), keys.SessionParams{Link: true, ReadOnly: c.ReadOnly, ReadCaptures: c.ReadCaptures})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(stdout, signInLink(strings.TrimRight(c.URL, "/"), made.Raw))
		return err
	})
}
