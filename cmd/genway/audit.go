package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/audit"
	"github.com/go-json-experiment/json/jsontext"
)

type auditCommand struct {
	List   listAudit   `cmd:"" help:"List changes: what, by whom and when."`
	Verify verifyAudit `cmd:"" help:"Verify that no entry was changed, removed or inserted."`
}

type listAudit struct {
	coreproc.Data
	Key    string        `placeholder:"ID" help:"Only changes of the key with this id."`
	Since  time.Duration `least:"0s" placeholder:"D" help:"Only changes within this time until now: 24h."`
	Format string        `enum:"table,json" default:"table" help:"table or json."`
}

// Run prints a table or a JSON array, the oldest entry first.
func (c *listAudit) Run(ctx context.Context, stdout io.Writer) error {
	var since time.Time
	if c.Since != 0 {
		since = time.Now().Add(-c.Since)
	}
	return c.WithAudit(ctx, func(store audit.Store) error {
		var list []*audit.Entry
		for e, err := range store.Entries(ctx, audit.Query{Subject: c.Key}) {
			if err != nil {
				return fmt.Errorf("list the audit: %w", err)
			}
			if !e.Time.Before(since) {
				list = append(list, e)
			}
		}
		if c.Format == "json" {
			return auditJSON(stdout, list)
		}
		return auditTable(stdout, list)
	})
}

func auditTable(stdout io.Writer, list []*audit.Entry) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NUMBER\tTIME\tACTOR\tACTION\tSUBJECT\tDETAIL")
	for _, e := range list {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", e.Number, e.Time.Format(time.RFC3339),
			plain(e.Actor), plain(e.Action), plain(e.Subject), dash(plain(e.Detail)))
	}
	return table.Flush()
}

// plain shows a text that somebody may have put in by hand.
func plain(text string) string {
	for _, r := range text {
		if !strconv.IsPrint(r) {
			quoted := strconv.Quote(text)
			return quoted[1 : len(quoted)-1]
		}
	}
	return text
}

// auditObject is an entry in JSON.
type auditObject struct {
	Number   int64          `json:"number"`
	Time     time.Time      `json:"time"`
	Actor    string         `json:"actor"`
	Action   string         `json:"action"`
	Subject  string         `json:"subject"`
	Detail   jsontext.Value `json:"detail,omitzero"`
	Previous string         `json:"previous"`
	Hash     string         `json:"hash"`
}

func auditJSON(stdout io.Writer, list []*audit.Entry) error {
	objects := make([]auditObject, len(list))
	for i, e := range list {
		objects[i] = auditObject{
			Number: e.Number, Time: e.Time, Actor: e.Actor, Action: e.Action, Subject: e.Subject,
			Previous: hex.EncodeToString(e.Previous[:]), Hash: hex.EncodeToString(e.Hash[:]),
		}
		if detail := jsontext.Value(e.Detail); detail.IsValid() {
			objects[i].Detail = detail
		}
	}
	return printJSON(stdout, objects)
}

type verifyAudit struct {
	coreproc.Data
	Head string `placeholder:"HASH" help:"A hash that an earlier verification printed. It must still be in the chain, which proves that no entry was removed from its end."`
}

// Run prints the audit's head, or fails at the first entry that is wrong.
func (c *verifyAudit) Run(ctx context.Context, stdout io.Writer) error {
	var known [sha256.Size]byte
	if c.Head != "" {
		hash, err := hex.DecodeString(c.Head)
		if err != nil || len(hash) != len(known) {
			return cli.UsageError{Err: errors.New("--head: a hash has 64 hexadecimal digits")}
		}
		copy(known[:], hash)
	}
	return c.WithAudit(ctx, func(store audit.Store) error {
		head, err := audit.Verify(store.Entries(ctx, audit.Query{}), known)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "whole: %d entries, head %x\n", head.Number, head.Hash)
		return err
	})
}
