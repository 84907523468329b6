package main

import (
	"context"
	"crypto/rand"
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

// Run prints a link and nothing else, and then makes it in the store, which must exist.
func (c *consoleLink) Run(ctx context.Context, stdout io.Writer) error {
	return c.WithKeys(ctx, func(ring *keys.Service) error {
		drawn, raw, err := keys.Draw(rand.Reader)
		if err != nil {
			return err
		}
		return handOver(stdout, signInLink(strings.TrimRight(c.URL, "/"), raw)+"\n", func() error {
			_, err := ring.StartSession(audit.WithActor(ctx, actor()), keys.SessionParams{Link: true, ReadOnly: c.ReadOnly, ReadCaptures: c.ReadCaptures, Drawn: drawn})
			return err
		})
	})
}
