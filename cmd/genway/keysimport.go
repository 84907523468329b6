package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
)

type importKeys struct {
	storeFlags
	File   string `arg:"" type:"existingfile" help:"The CSV file, or - for standard input. Its first line names the columns: group, and any of name, owner, labels, expire_time, models, addresses, certificates, requests_per_minute, tokens_per_minute, concurrent, budget_day, budget_month, strict, priority, each as its flag takes it."`
	DryRun bool   `help:"Check the file and make nothing."`
}

// Run makes the keys and prints them: id, group, name and key, in the file's order.
func (c *importKeys) Run(ctx context.Context, stdout io.Writer) error {
	file, name := os.Stdin, "standard input"
	if c.File != "-" {
		opened, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer opened.Close() //nolint:errcheck // it was only read
		file, name = opened, c.File
	}
	table, err := readKeys(file)
	if err != nil {
		return fmt.Errorf("%s:%w", name, err)
	}
	return c.on(ctx, c.importing(), func(ctx context.Context, ring keyring) error {
		made, err := ring.Import(ctx, table.params, c.DryRun)
		if invalid, ok := errors.AsType[*keys.InvalidError](err); ok {
			return fmt.Errorf("%s:%w; nothing was imported", name, table.blame(invalid))
		}
		if err != nil {
			return err
		}
		if c.DryRun {
			_, err = fmt.Fprintf(stdout, "%d keys would be made\n", len(made))
			return err
		}
		return createdCSV(stdout, made)
	})
}

// importing gives what opens the store. A dry run makes no store, not even an empty one:
// where there is none yet, it checks the file against an empty one of its own.
func (c *importKeys) importing() opens {
	if !c.DryRun {
		return c.WithNewKeys
	}
	return func(ctx context.Context, do func(*keys.Service) error) error {
		err := c.WithKeys(ctx, do)
		if !errors.Is(err, store.ErrMissing) {
			return err
		}
		dir, err := os.MkdirTemp("", "genway-dry-run-")
		if err != nil {
			return err
		}
		empty := coreproc.Data{Store: filepath.Join(dir, store.FileName)}
		return errors.Join(empty.WithNewKeys(ctx, do), os.RemoveAll(dir))
	}
}

// keyTable is what an import's file asks for, and where.
type keyTable struct {
	params []keys.CreateParams
	// places are where each cell of a row is, by the name of its column; "" is the
	// row itself.
	places []map[string]place
}

// place is a line and a column of a file, from 1; the column in bytes.
type place struct{ line, column int }

// placed is an error at a place: LINE:COLUMN: text.
func (p place) placed(format string, args ...any) error {
	return fmt.Errorf("%d:%d: %w", p.line, p.column, fmt.Errorf(format, args...))
}

// readKeys reads the file. Errors begin with the line and the column.
func readKeys(file io.Reader) (*keyTable, error) {
	in := csv.NewReader(file)
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, place{1, 1}.placed("the file is empty; its first line names the columns")
	}
	if err != nil {
		return nil, csvError(err)
	}
	// What programs for tables put ahead of UTF-8.
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	columns, err := columnsOf(in, header)
	if err != nil {
		return nil, err
	}
	table := &keyTable{}
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return table, nil
		}
		if err != nil {
			return nil, csvError(err)
		}
		if err := table.add(in, header, columns, row); err != nil {
			return nil, err
		}
	}
}

// columnsOf gives what each column sets; nil for the group.
func columnsOf(in *csv.Reader, header []string) ([]*setting, error) {
	columns := make([]*setting, len(header))
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
		name := header[i]
		line, column := in.FieldPos(i)
		at := place{line, column}
		if slices.Contains(header[:i], name) {
			return nil, at.placed("column %s stands there twice", shown(name))
		}
		if name == "group" {
			continue
		}
		n := slices.IndexFunc(settings, func(s setting) bool { return s.name == name })
		if n < 0 {
			return nil, at.placed("no column is named %s; there are group, %s", shown(name), settingNames())
		}
		columns[i] = &settings[n]
	}
	if !slices.Contains(header, "group") {
		return nil, place{1, 1}.placed("the column group is missing")
	}
	return columns, nil
}

func (t *keyTable) add(in *csv.Reader, header []string, columns []*setting, row []string) error {
	var params keys.CreateParams
	line, column := in.FieldPos(0)
	places := map[string]place{"": {line, column}}
	for i, text := range row {
		line, column := in.FieldPos(i)
		at := place{line, column}
		places[header[i]] = at
		text = strings.TrimSpace(text)
		if columns[i] == nil {
			params.Group = keys.Group(text)
			continue
		}
		if err := columns[i].set(&params.Settings, text); err != nil {
			return at.placed("%s: %w", header[i], err)
		}
	}
	t.params, t.places = append(t.params, params), append(t.places, places)
	return nil
}

// blame says where in the file it is that a key cannot be made.
func (t *keyTable) blame(invalid *keys.InvalidError) error {
	places := t.places[invalid.Index]
	field := invalid.Fields[0]
	at, ok := places[settingOf(field.Field)]
	if field.Field == "group" {
		at, ok = places["group"]
	}
	if !ok {
		at = places[""]
	}
	return at.placed("%w", field)
}

func settingNames() string {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.name
	}
	return strings.Join(names, ", ")
}

// csvError says what is wrong with the file itself, without repeating any of it.
func csvError(err error) error {
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		return place{e.Line, e.Column}.placed("%w", e.Err)
	}
	return fmt.Errorf(" %w", err)
}

// createdCSV prints new keys, this once.
func createdCSV(stdout io.Writer, made []keys.Created) error {
	lines := [][]string{{"id", "group", "name", "key"}}
	for _, c := range made {
		lines = append(lines, []string{c.Key.ID, string(c.Key.Group), c.Key.Name, c.Raw})
	}
	return csv.NewWriter(stdout).WriteAll(lines)
}
