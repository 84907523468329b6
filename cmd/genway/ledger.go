package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/ledger/reconcile"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/price"
	"github.com/go-json-experiment/json"
)

type ledgerCommand struct {
	Check     checkLedger     `cmd:"" help:"Check the ledger for consistency: no open rows, roll-ups equal to the sums of the rows, costs equal to what the prices give. Exits with 1 if anything is wrong."`
	Reconcile reconcileLedger `cmd:"" help:"Compare the ledger with what callers or an upstream recorded. Exits with 1 if they differ."`
	Prune     pruneLedger     `cmd:"" help:"Delete the rows of old requests. Their sums by day stay."`
}

type checkLedger struct {
	coreproc.Data
	Prices     string `env:"GENWAY_PRICES" placeholder:"FILE" help:"File of prices to compute the costs again with."`
	Checkpoint string `placeholder:"FILE" help:"File that holds the progress of the check, written after each day. An interrupted check continues from it. The file is removed at the end."`
}

// errWrong is the error of a command that has printed what is wrong.
var errWrong = errors.New("the ledger does not add up")

// Run prints what was looked at, and then what is wrong.
func (c *checkLedger) Run(ctx context.Context, stdout io.Writer) error {
	what := reconcile.Checking{Now: time.Now()}
	if c.Prices != "" {
		catalogue, err := price.Load(c.Prices)
		if err != nil {
			return err
		}
		what.Prices = catalogue
	}
	location, err := c.Location()
	if err != nil {
		return err
	}
	point, err := newCheckpoint(c.Checkpoint, location, c.Prices)
	if err != nil {
		return err
	}
	if what.From, err = point.read(); err != nil {
		return err
	}
	progress := cli.NewProgress()
	what.After = func(found *reconcile.Checked) error {
		reportDays(progress, found)
		return point.write(found)
	}
	return c.WithLedger(ctx, func(store ledger.Store, _ *keys.Service) error {
		what.Store = store
		checked, err := reconcile.Check(ctx, what)
		progress.Clear()
		if err != nil {
			return err
		}
		if err := point.remove(); err != nil {
			return err
		}
		return c.print(stdout, checked)
	})
}

func (c *checkLedger) print(stdout io.Writer, checked *reconcile.Checked) error {
	fmt.Fprintf(stdout, "%d requests that began before %s, and the sums by day of %d pruned requests\n", checked.Entries, checked.Until.UTC().Format(time.RFC3339), checked.Pruned)
	if checked.Hours > 0 {
		fmt.Fprintf(stdout, "the roll-ups of %d hours, compared with the rows\n", checked.Hours)
	}
	if c.Prices != "" {
		fmt.Fprintf(stdout, "%d costs calculated again; %d have a price that is not in %s\n", checked.Recomputed, checked.Unknown, c.Prices)
	}
	if checked.Left > 0 {
		fmt.Fprintf(stdout, "%d requests of ended processes are still open\n", checked.Left)
	}
	for _, line := range append(checked.Wrong, checked.Sums...) {
		fmt.Fprintln(stdout, plainLine(line))
	}
	if !checked.Good() {
		return errWrong
	}
	_, err := fmt.Fprintln(stdout, "all is well")
	return err
}

// plainLine keeps words of callers from drawing on a terminal.
func plainLine(s string) string {
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

type reconcileLedger struct {
	coreproc.Data
	Column   []string `sep:"none" placeholder:"OURS=THEIRS" help:"The file's name for one of our columns, or a sum of several: input_tokens=uncached+cached."`
	Since    moment   `placeholder:"TIME" help:"Only requests that began at this time or later, as with usage."`
	Until    moment   `placeholder:"TIME" help:"Only requests that began before this time."`
	Upstream string   `placeholder:"NAME" help:"Only requests that this upstream served."`
	Used     bool     `help:"Only requests with usage: no errors, no token counting requests."`
	Limit    int      `default:"20" least:"0" placeholder:"N" help:"How many differences of each kind to print."`
	Answers  string   `arg:"" help:"NDJSON, an object a line, or CSV with a header line; - is standard input. Columns: request_id, or any of key, owner, model, day, protocol, upstream, served_model; and figures as those of usage."`
}

var errDiffer = errors.New("the ledger and the answers differ")

// Run prints how many match and what does not.
func (c *reconcileLedger) Run(ctx context.Context, stdout io.Writer) error {
	columns := reconcile.Columns{}
	for _, column := range c.Column {
		if err := columns.ParseColumn(column); err != nil {
			return cli.UsageError{Err: fmt.Errorf("--column %w", err)}
		}
	}
	answers, err := c.read(columns)
	if err != nil {
		return err
	}
	scope := reconcile.Scope{Since: c.Since.Time, Until: c.Until.Time, Upstream: c.Upstream, Used: c.Used}
	progress := cli.NewProgress()
	return c.WithLedger(ctx, func(store ledger.Store, _ *keys.Service) error {
		total, err := entriesOf(ctx, store, ledger.Query{Since: scope.Since}, progress)
		if err != nil {
			return err
		}
		scope.Read = func(entries int64) { progress.Report(entries, total, "requests are read") }
		result, err := reconcile.Compare(ctx, store, answers, scope)
		progress.Clear()
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "compared %s by %s: %d match\n", strings.Join(answers.Figures, ", "), strings.Join(answers.By, ", "), result.Matched)
		c.missing(stdout, "missing in the ledger", result.MissingInLedger)
		c.missing(stdout, "missing in the answers", result.MissingInAnswers)
		if err := c.differing(stdout, answers.By, result.Differing); err != nil {
			return err
		}
		if !result.Equal() {
			return errDiffer
		}
		return nil
	})
}

func (c *reconcileLedger) read(columns reconcile.Columns) (*reconcile.Answers, error) {
	if c.Answers == "-" {
		return reconcile.Read("standard input", os.Stdin, columns)
	}
	file, err := os.Open(c.Answers)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	return reconcile.Read(c.Answers, file, columns)
}

func (c *reconcileLedger) missing(stdout io.Writer, title string, rows []ledger.Row) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(stdout, "%s: %d\n", title, len(rows))
	for i, r := range rows {
		if i == c.Limit {
			fmt.Fprintln(stdout, "  …")
			break
		}
		fmt.Fprintf(stdout, "  %s\n", plainLine(strings.Join(r.Values, " ")))
	}
}

func (c *reconcileLedger) differing(stdout io.Writer, by []string, rows []reconcile.Difference) error {
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintf(stdout, "differing figures: %d\n", len(rows))
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "  %s\tFIGURE\tLEDGER\tANSWERS\n", strings.ToUpper(strings.Join(by, " ")))
	for i, d := range rows {
		if i == c.Limit {
			fmt.Fprintln(table, "  …")
			break
		}
		show := func(n int64) string { return strconv.FormatInt(n, 10) }
		if d.Figure == "cost" {
			show = limit.FormatMoney
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", plainLine(strings.Join(d.Values, " ")), d.Figure, show(d.Ledger), show(d.Answers))
	}
	return table.Flush()
}

type pruneLedger struct {
	coreproc.Data
	Before moment `required:"" placeholder:"TIME" help:"Delete the rows of days that ended before this time: 2026-01-31, or 400d ago."`
}

// Run prunes in batches, so that servers on the same data go on.
func (c *pruneLedger) Run(ctx context.Context, stdout io.Writer) error {
	if time.Since(c.Before.Time) < 24*time.Hour {
		return cli.UsageError{Err: errors.New("--before: the rows of the last day stay, since requests may still run; give a time of at least a day ago")}
	}
	return c.WithLedger(ctx, func(store ledger.Store, _ *keys.Service) error {
		progress := cli.NewProgress()
		total, err := entriesOf(ctx, store, ledger.Query{Until: c.Before.Truncate(24 * time.Hour)}, progress)
		if err != nil {
			return err
		}
		n, err := ledger.PruneAll(ctx, store, c.Before.Time, func(pruned int64) { progress.Report(pruned, total, "requests are pruned") })
		progress.Clear()
		fmt.Fprintf(stdout, "removed the rows of %d requests; their sums by day stay\n", n)
		return err
	})
}

// entriesOf counts the requests that have rows, if there is a progress that needs it.
func entriesOf(ctx context.Context, store ledger.Store, query ledger.Query, progress *cli.Progress) (entries int64, err error) {
	if progress == nil {
		return 0, nil
	}
	for _, of := range []struct {
		pruned bool
		sign   int64
	}{{false, 1}, {true, -1}} {
		query.Pruned = of.pruned
		rows, err := store.Report(ctx, query)
		if err != nil {
			return 0, err
		}
		for _, r := range rows {
			entries += of.sign * r.Requests
		}
	}
	return entries, nil
}

// checkpoint is a file with what a check of the ledger had found until it was broken off.
type checkpoint struct {
	path string
	of   string // what is checked: the store and the prices
}

// checkpointed is the file's content.
type checkpointed struct {
	Of    string             `json:"of"`
	Found *reconcile.Checked `json:"found"`
}

// newCheckpoint returns the checkpoint at a path, nil for none. What the store is called and what
// the prices say is not in the file, but a hash of it.
func newCheckpoint(path, location, prices string) (*checkpoint, error) {
	if path == "" {
		return nil, nil
	}
	hash := sha256.New()
	hash.Write([]byte(location + "\x00"))
	if prices != "" {
		text, err := os.ReadFile(prices) //nolint:gosec // the operator says which
		if err != nil {
			return nil, err
		}
		hash.Write(text)
	}
	c := &checkpoint{path, hex.EncodeToString(hash.Sum(nil))}
	if err := c.tryWriting(); err != nil {
		return nil, fmt.Errorf("--checkpoint: %w", err)
	}
	return c, nil
}

// tryWriting fails where the file cannot be written: a check of an hour should not find that
// out after its first day.
func (c *checkpoint) tryWriting() error {
	if info, err := os.Stat(c.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", c.path)
	}
	file, err := os.OpenFile(c.next(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(c.next()))
}

// next is where the file is written before it takes its place.
func (c *checkpoint) next() string { return c.path + ".next" }

// read returns what was found until the check was broken off, nil where there is no file.
func (c *checkpoint) read() (*reconcile.Checked, error) {
	if c == nil {
		return nil, nil
	}
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var had checkpointed
	if err := json.Unmarshal(text, &had); err != nil || had.Found == nil {
		return nil, fmt.Errorf("%s is no checkpoint of a check; remove it to begin at the beginning", c.path)
	}
	if had.Of != c.of {
		return nil, fmt.Errorf("%s is of a check of another store or with other prices; remove it to begin at the beginning", c.path)
	}
	return had.Found, nil
}

// write replaces the file as a whole, so that a check that is killed leaves one of the two.
func (c *checkpoint) write(found *reconcile.Checked) error {
	if c == nil {
		return nil
	}
	text, err := json.Marshal(checkpointed{c.of, found})
	if err != nil {
		return err
	}
	err = os.WriteFile(c.next(), text, 0o600)
	if err == nil {
		err = os.Rename(c.next(), c.path)
	}
	if err != nil {
		_ = os.Remove(c.next()) // the error says more; of a full disk a part of the file is left
	}
	return err
}

// remove removes the file of a check that has come to its end.
func (c *checkpoint) remove() error {
	if c == nil {
		return nil
	}
	if err := os.Remove(c.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// reportDays shows how far a check is.
func reportDays(progress *cli.Progress, found *reconcile.Checked) {
	days := func(t time.Time) int64 { return int64(t.Sub(found.First)/(24*time.Hour)) + 1 }
	progress.Report(days(found.Next)-1, days(found.Until), fmt.Sprintf("days are checked, %d requests", found.Entries))
}
