package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
)

type importKeys struct {
	storeFlags
	File   string `arg:"" type:"existingfile" help:"The CSV file, or - for standard input. Its first line names the columns: group, which may have several as in \"chat,messages\", and settings as the flags of genway keys create are named, with _ for -: name, owner, expire_time, requests_per_minute, budget_month. Each value is as the flag takes it."`
	Out    string `placeholder:"FILE" help:"Write the keys to this file instead of printing them. It must not exist, and is readable by its user only."`
	Hashes bool   `help:"Import keys of another gateway, which stay as they are: the column sha256 has the SHA-256 of each, in 64 hexadecimal digits. genway serve --foreign-keys accepts them."`
	DryRun bool   `help:"Check the file and create nothing."`
}

// Run prints the keys, or writes them to a file: id, group, name and key, in the file's order. Then it makes them.
func (c *importKeys) Run(ctx context.Context, stdout io.Writer) (err error) {
	text, name, err := c.read(ctx)
	if err != nil {
		return err
	}
	progress := cli.NewProgress()
	defer progress.Clear()
	table := keyTable{bytes.NewReader(text), c.Hashes}
	total, wrong, err := checkKeys(ctx, table, progress)
	switch {
	case err != nil:
		return err
	case len(wrong) == 1:
		return fmt.Errorf("%s:%w; nothing was imported", name, wrong[0])
	case len(wrong) > 1:
		lines := []string{fmt.Sprintf("%s has %s; nothing was imported", name, counted(len(wrong)))}
		for _, err := range wrong {
			lines = append(lines, fmt.Sprintf("%s:%v", name, err))
		}
		return errors.New(strings.Join(lines, "\n"))
	}
	output := stdout
	if c.Out != "" && !c.DryRun {
		file, refused := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if refused != nil {
			return fmt.Errorf("--out: %w; nothing was imported", refused)
		}
		output = file
		defer func() {
			if err = errors.Join(err, file.Close()); err != nil && !maybeMade(err) {
				err = errors.Join(err, os.Remove(c.Out))
			}
		}()
	}
	err = c.on(ctx, c.importing(), func(ctx context.Context, ring keyring) error {
		importAll := func(params iter.Seq2[keys.CreateParams, error], dry bool, doing string) error {
			var done int64
			err := ring.ImportAll(ctx, keys.Importing{Params: params, Dry: dry, Made: func(part []keys.Created) error {
				done += int64(len(part))
				progress.Report(done, total, doing)
				return nil
			}})
			progress.Clear()
			if invalid, ok := errors.AsType[*keys.InvalidError](err); ok && invalid.Fields[0].Field == "key_id" {
				return fmt.Errorf("%s: a key of it is in the store already", name) // which one, the store does not say
			} else if ok {
				return fmt.Errorf("%s:%w", name, table.blame(invalid))
			}
			return err
		}
		if err := importAll(table.params(), true, "keys are checked in the store"); err != nil {
			return err
		}
		if c.DryRun {
			_, err := fmt.Fprintf(stdout, "%d keys would be made\n", total)
			return err
		}
		drawn, printed, err := table.draw()
		if err != nil {
			return err
		}
		return handOver(output, printed, func() error {
			return importAll(drawn, false, "keys are made")
		})
	})
	if err != nil && !maybeMade(err) {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	return err
}

// read returns the text of the file, and its name in errors.
func (c *importKeys) read(ctx context.Context) (text []byte, name string, err error) {
	file, name := os.Stdin, "standard input"
	if c.File != "-" {
		name = c.File
		if file, err = os.Open(c.File); err != nil {
			return nil, "", err
		}
		defer file.Close() //nolint:errcheck // it was only read
	}
	// A read of a pipe ends with its file.
	defer context.AfterFunc(ctx, func() { _ = file.Close() })()
	text, err = io.ReadAll(file)
	return text, name, cmp.Or(ctx.Err(), err)
}

// maxImportMistakes bounds how many mistakes of a file are named.
const maxImportMistakes = 100

// counted says how many mistakes there are, as far as they are named.
func counted(n int) string {
	if n == maxImportMistakes {
		return fmt.Sprintf("%d mistakes or more", n)
	}
	return fmt.Sprintf("%d mistakes", n)
}

// checkKeys checks the file without a store and returns the number of its keys, and what is wrong with it. The error is the
// context's.
func checkKeys(ctx context.Context, table keyTable, progress *cli.Progress) (total int64, wrong []error, err error) {
	now := time.Now()
	secrets := map[keys.Digest]int{} // and the lines that have them
	for row, err := range table.rows() {
		switch {
		case ctx.Err() != nil:
			return 0, nil, ctx.Err()
		case err != nil:
			wrong = append(wrong, err)
		default:
			if invalid, ok := errors.AsType[*keys.InvalidError](row.params.Check(now)); ok {
				wrong = append(wrong, row.blame(invalid)...)
			}
			if table.hashes {
				at := row.placeOf(hashColumn)
				if first, twice := secrets[row.params.Drawn.Secret]; twice {
					wrong = append(wrong, at.placed("%s: line %d has the same key", hashColumn, first))
				}
				secrets[row.params.Drawn.Secret] = at.line
			}
		}
		if len(wrong) >= maxImportMistakes {
			return 0, wrong[:maxImportMistakes], nil
		}
		total++
		progress.Report(total, 0, "keys are checked")
	}
	return total, wrong, nil
}

// importing returns what opens the store. A dry run makes no store, not even an empty one:
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

// keyTable reads an import's file, row by row and as often as it is needed.
type keyTable struct {
	file   io.ReadSeeker
	hashes bool // the keys exist elsewhere: hashColumn has their digests
}

// hashColumn has the SHA-256 of keys that exist elsewhere.
const hashColumn = "sha256"

// keyRow is a row of the file: the key it asks for, and where each of its cells is.
type keyRow struct {
	params  keys.CreateParams
	in      *csv.Reader
	columns []string
}

// place is a line and a column of a file, from 1; the column in bytes.
type place struct{ line, column int }

// placed is an error at a place: LINE:COLUMN: text.
func (p place) placed(format string, args ...any) error {
	return fmt.Errorf("%d:%d: %w", p.line, p.column, fmt.Errorf(format, args...))
}

// placeOf returns the line and column of a member's cell, or of the row if the table has no such column.
func (r keyRow) placeOf(member string) place {
	name := settingOf(member)
	if member == "group" || member == hashColumn {
		name = member
	}
	line, column := r.in.FieldPos(max(0, slices.Index(r.columns, name)))
	return place{line, column}
}

// blame says where in the file it is that the key of the row cannot be made.
func (r keyRow) blame(invalid *keys.InvalidError) (list []error) {
	for _, field := range invalid.Fields {
		list = append(list, r.placeOf(field.Field).placed("%w", field))
	}
	return list
}

// rows reads the file from its beginning. Errors begin with the line and the column; after one of a cell the next row is
// read, unless the caller has ended. A row is good until the next one is read.
func (t keyTable) rows() iter.Seq2[keyRow, error] {
	return func(yield func(keyRow, error) bool) {
		if _, err := t.file.Seek(0, io.SeekStart); err != nil {
			yield(keyRow{}, fmt.Errorf(" %w", err))
			return
		}
		in := csv.NewReader(t.file)
		in.ReuseRecord = true
		header, err := in.Read()
		if errors.Is(err, io.EOF) {
			yield(keyRow{}, place{1, 1}.placed("the file is empty; its first line names the columns"))
			return
		}
		if err != nil {
			yield(keyRow{}, csvError(err))
			return
		}
		header = slices.Clone(header)
		// The byte order mark that programs for tables write.
		header[0] = strings.TrimPrefix(header[0], "\ufeff")
		columns, err := columnsOf(in, header, t.hashes)
		if err != nil {
			yield(keyRow{}, err)
			return
		}
		for {
			cells, err := in.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			row := keyRow{in: in, columns: header}
			if err != nil {
				yield(row, csvError(err))
				return
			}
			row.params, err = paramsOf(in, header, columns, cells)
			if err == nil && t.hashes {
				err = foreignKey(&row.params)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// params returns the params of the rows, from the beginning.
func (t keyTable) params() iter.Seq2[keys.CreateParams, error] {
	return func(yield func(keys.CreateParams, error) bool) {
		for row, err := range t.rows() {
			if !yield(row.params, err) {
				return
			}
		}
	}
}

// foreignKey sets a new id in the params of a key that another gateway has issued.
func foreignKey(params *keys.CreateParams) error {
	drawn, _, err := keys.Draw(rand.Reader)
	if err != nil {
		return err
	}
	params.Drawn.ID = drawn.ID
	if params.Labels == nil {
		params.Labels = map[string]string{}
	}
	params.Labels[keys.LabelForeign] = hashColumn
	return nil
}

// draw draws the keys of the rows. It returns their params, and what is printed of them as CSV: keys that exist elsewhere
// are not known here.
func (t keyTable) draw() (params iter.Seq2[keys.CreateParams, error], printed string, err error) {
	var all []keys.Drawn
	var text strings.Builder
	lines := csv.NewWriter(&text)
	columns := []string{"id", "group", "name", "key"}
	if t.hashes {
		columns = columns[:3]
	}
	err = lines.Write(columns)
	for row, wrong := range t.params() {
		drawn, raw, failed := keys.Draw(rand.Reader)
		if t.hashes {
			drawn = row.Drawn
		}
		all = append(all, drawn)
		err = errors.Join(err, wrong, failed, lines.Write([]string{drawn.ID, string(row.Group), row.Name, raw}[:len(columns)]))
	}
	lines.Flush()
	return func(yield func(keys.CreateParams, error) bool) {
		next := 0
		for row, err := range t.params() {
			row.Drawn = all[next]
			if next++; !yield(row, err) {
				return
			}
		}
	}, text.String(), errors.Join(err, lines.Error())
}

// columnsOf returns what each column sets; nil for the group and the hashes.
func columnsOf(in *csv.Reader, header []string, hashes bool) ([]*setting, error) {
	columns := make([]*setting, len(header))
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
		name := header[i]
		line, column := in.FieldPos(i)
		at := place{line, column}
		if slices.Contains(header[:i], name) {
			return nil, at.placed("column %s stands there twice", shown(name))
		}
		if name == "group" || hashes && name == hashColumn {
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
	if hashes && !slices.Contains(header, hashColumn) {
		return nil, place{1, 1}.placed("the column %s is missing", hashColumn)
	}
	return columns, nil
}

// paramsOf reads the cells of a row.
func paramsOf(in *csv.Reader, header []string, columns []*setting, cells []string) (keys.CreateParams, error) {
	var params keys.CreateParams
	for i, text := range cells {
		text = strings.TrimSpace(text)
		if columns[i] == nil && header[i] == hashColumn {
			if n, err := hex.Decode(params.Drawn.Secret[:], []byte(text[:min(len(text), 64)])); err != nil || n != len(params.Drawn.Secret) || len(text) != 64 {
				line, column := in.FieldPos(i)
				return params, place{line, column}.placed("%s: expected 64 hexadecimal digits", hashColumn) // it may be a key
			}
			continue
		}
		if columns[i] == nil {
			params.Group = keys.Group(text)
			if group, err := keys.ParseGroup(text); err == nil { // Check says what is wrong with another
				params.Group = group
			}
			continue
		}
		if err := columns[i].set(&params.Settings, text); err != nil {
			line, column := in.FieldPos(i)
			return params, place{line, column}.placed("%s: %w", header[i], err)
		}
	}
	return params, nil
}

// blame says where in the file it is that the key of an index cannot be made.
func (t keyTable) blame(invalid *keys.InvalidError) error {
	index := 0
	for row, err := range t.rows() {
		if err != nil {
			return err
		}
		if index == invalid.Index {
			return row.blame(invalid)[0]
		}
		index++
	}
	return fmt.Errorf(" %w", invalid) // of no row
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
