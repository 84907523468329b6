package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/ledger"
	"github.com/go-json-experiment/json/jsontext"
)

type usageCommand struct {
	coreproc.Data
	By     string        `enum:"key,model,day,protocol,upstream" default:"day" help:"What to have a row for each of: key, model (as asked for), day (of UTC), protocol or upstream."`
	Since  time.Duration `placeholder:"D" help:"How far back to look: 24h. Without it, at everything."`
	Format string        `enum:"table,csv,json" default:"table" help:"table, csv or json."`
}

// Run prints the report. Only the table leaves columns out.
func (c *usageCommand) Run(ctx context.Context, stdout io.Writer) error {
	query := ledger.Query{By: ledger.Dimension(c.By)}
	if c.Since != 0 {
		query.Since = time.Now().Add(-c.Since)
	}
	return c.WithLedger(ctx, func(store ledger.Store) error {
		report, err := store.Report(ctx, query)
		if err != nil {
			return err
		}
		switch c.Format {
		case "csv":
			return usageCSV(stdout, c.By, report)
		case "json":
			return usageJSON(stdout, c.By, report)
		}
		return usageTable(stdout, c.By, report)
	})
}

// usageColumn is one figure of a row.
type usageColumn struct {
	name  string // in CSV and JSON
	title string // in the table; empty leaves it out
	of    func(ledger.Row) int64
}

var usageColumns = []usageColumn{
	{"requests", "REQUESTS", func(r ledger.Row) int64 { return r.Requests }},
	{"ok", "OK", func(r ledger.Row) int64 { return r.OK }},
	{"failed", "FAILED", func(r ledger.Row) int64 { return r.Failed }},
	{"cancelled", "CANCELLED", func(r ledger.Row) int64 { return r.Cancelled }},
	{"interrupted", "INTERRUPTED", func(r ledger.Row) int64 { return r.Interrupted }},
	{"open", "OPEN", func(r ledger.Row) int64 { return r.Open }},
	{"input_tokens", "INPUT", func(r ledger.Row) int64 { return r.Input }},
	{"output_tokens", "OUTPUT", func(r ledger.Row) int64 { return r.Output }},
	{"cache_read_tokens", "CACHE READ", func(r ledger.Row) int64 { return r.CacheRead }},
	{"cache_write_tokens", "CACHE WRITE", func(r ledger.Row) int64 { return r.CacheWrite }},
	{"cache_write_1h_tokens", "", func(r ledger.Row) int64 { return r.CacheWrite1h }},
	{"thinking_tokens", "THINKING", func(r ledger.Row) int64 { return r.Thinking }},
	{"input_image_tokens", "", func(r ledger.Row) int64 { return r.InputImage }},
	{"input_audio_tokens", "", func(r ledger.Row) int64 { return r.InputAudio }},
	{"output_image_tokens", "", func(r ledger.Row) int64 { return r.OutputImage }},
	{"output_audio_tokens", "", func(r ledger.Row) int64 { return r.OutputAudio }},
	{"images", "IMAGES", func(r ledger.Row) int64 { return r.Images }},
}

func usageTable(stdout io.Writer, by string, report []ledger.Row) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, map[string]string{"key": "KEY", "model": "MODEL", "day": "DAY", "protocol": "PROTOCOL", "upstream": "UPSTREAM"}[by])
	for _, column := range usageColumns {
		if column.title != "" {
			fmt.Fprint(table, "\t", column.title)
		}
	}
	fmt.Fprintln(table)
	for _, row := range report {
		value := strconv.Quote(row.Value) // models are words of callers
		fmt.Fprint(table, dash(value[1:len(value)-1]))
		for _, column := range usageColumns {
			if column.title != "" {
				fmt.Fprint(table, "\t", column.of(row))
			}
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

func usageCSV(stdout io.Writer, by string, report []ledger.Row) error {
	out := csv.NewWriter(stdout)
	header := []string{by}
	for _, column := range usageColumns {
		header = append(header, column.name)
	}
	lines := [][]string{header}
	for _, row := range report {
		line := []string{row.Value}
		for _, column := range usageColumns {
			line = append(line, strconv.FormatInt(column.of(row), 10))
		}
		lines = append(lines, line)
	}
	return out.WriteAll(lines)
}

// usageJSON prints an array of objects.
func usageJSON(stdout io.Writer, by string, report []ledger.Row) error {
	out := jsontext.NewEncoder(stdout, jsontext.AllowInvalidUTF8(true))
	tokens := []jsontext.Token{jsontext.BeginArray}
	for _, row := range report {
		tokens = append(tokens, jsontext.BeginObject, jsontext.String(by), jsontext.String(row.Value))
		for _, column := range usageColumns {
			tokens = append(tokens, jsontext.String(column.name), jsontext.Int(column.of(row)))
		}
		tokens = append(tokens, jsontext.EndObject)
	}
	for _, token := range append(tokens, jsontext.EndArray) {
		if err := out.WriteToken(token); err != nil {
			return err
		}
	}
	return nil
}
