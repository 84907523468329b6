package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
)

type keysCommand struct {
	Create createKey `cmd:"" help:"Make a key and print it, alone. It is shown this once."`
	List   listKeys  `cmd:"" help:"List all keys, without their secrets."`
	Revoke revokeKey `cmd:"" help:"Revoke a key for good."`
}

type createKey struct {
	coreproc.Data
	Group string        `required:"" enum:"chat,messages,generatecontent,internal" placeholder:"GROUP" help:"What the key is for: chat (chat completions, responses, images), messages, generatecontent or internal (direct gRPC)."`
	Name  string        `help:"A name to tell it by."`
	TTL   time.Duration `name:"ttl" help:"How long it is good for; without it, until it is revoked."`
}

// Run prints the raw key and nothing else on standard output.
func (c *createKey) Run(ctx context.Context, stdout io.Writer) error {
	return c.WithKeys(ctx, func(service *keys.Service) error {
		params := keys.CreateParams{Group: keys.Group(c.Group), Settings: keys.Settings{Name: c.Name}}
		if c.TTL != 0 {
			at := time.Now().Add(c.TTL)
			params.ExpireTime = &at
		}
		raw, _, err := service.Create(ctx, params)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(stdout, raw)
		return err
	})
}

type listKeys struct {
	coreproc.Data
}

// Run prints a table.
func (c *listKeys) Run(ctx context.Context, stdout io.Writer) error {
	return c.WithKeys(ctx, func(service *keys.Service) error {
		list, err := service.List(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tGROUP\tNAME\tCREATED\tSTATE")
		for _, key := range list {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", key.ID, key.Group, dash(key.Name), key.CreateTime.Format(time.RFC3339), state(key, time.Now()))
		}
		return table.Flush()
	})
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func state(key keys.Key, now time.Time) string {
	switch {
	case key.RevokeTime != nil:
		return "revoked " + key.RevokeTime.Format(time.RFC3339)
	case key.ExpireTime != nil && !now.Before(*key.ExpireTime):
		return "expired " + key.ExpireTime.Format(time.RFC3339)
	case key.ExpireTime != nil:
		return "live until " + key.ExpireTime.Format(time.RFC3339)
	}
	return "live"
}

type revokeKey struct {
	coreproc.Data
	Key string `arg:"" help:"The key's id, or its name if only one live key has it. Never the key itself."`
}

// Run revokes and says what was revoked.
func (c *revokeKey) Run(ctx context.Context, stdout io.Writer) error {
	return c.WithKeys(ctx, func(service *keys.Service) error {
		key, err := service.Revoke(ctx, c.Key)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "revoked %s (%s %s)\n", key.ID, key.Group, dash(key.Name))
		return err
	})
}
