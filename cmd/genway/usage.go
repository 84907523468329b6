package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/internal/amount"
	"github.com/go-json-experiment/json/jsontext"
)

type usageCommand struct {
	coreproc.Data
	By     []string `enum:"key,owner,model,day,hour,protocol,upstream,served_model" default:"day" placeholder:"BY" help:"Dimensions to group by: key (its id and name), owner, model (as requested), day or hour (UTC; pruned rows have the day only), protocol, upstream or served_model."`
	Since  moment   `placeholder:"TIME" help:"Only requests that began at this time or later: 36h or 30d ago, 2026-01-31, 2026-01-31T12:00:00Z. Default: all."`
	Until  moment   `placeholder:"TIME" help:"Only requests that began before this time."`
	Format string   `enum:"table,csv,json" default:"table" help:"table, csv or json."`
}

// Run prints the report. Only the table leaves columns out.
func (c *usageCommand) Run(ctx context.Context, stdout io.Writer) error {
	query := ledger.Query{Since: c.Since.Time, Until: c.Until.Time}
	for _, by := range c.By {
		query.By = append(query.By, ledger.Dimension(by))
	}
	return c.WithLedger(ctx, func(store ledger.Store, known *keys.Service) error {
		report, err := store.Report(ctx, query)
		if err != nil {
			return err
		}
		by, err := nameKeys(ctx, known, c.By, report)
		if err != nil {
			return err
		}
		switch c.Format {
		case "csv":
			return usageCSV(stdout, by, report)
		case "json":
			return usageJSON(stdout, by, report)
		}
		return usageTable(stdout, by, report)
	})
}

// nameKeys puts the name of each key beside its id in the rows of a report, as a column
// of its own, and returns the names of the columns. A key without a name has none there.
func nameKeys(ctx context.Context, known *keys.Service, by []string, report []ledger.Row) ([]string, error) {
	at := slices.Index(by, string(ledger.ByKey))
	if at < 0 {
		return by, nil
	}
	names := make(map[string]string, len(report))
	for _, row := range report {
		names[row.Values[at]] = ""
	}
	if err := nameEach(ctx, known, names); err != nil {
		return nil, err
	}
	for i := range report {
		report[i].Values = slices.Insert(report[i].Values, at+1, names[report[i].Values[at]])
	}
	return slices.Insert(slices.Clone(by), at+1, "key_name"), nil
}

// namesOneByOne is how many keys are looked up one by one: of more, all keys are read.
const namesOneByOne = 1000

// nameEach fills in the names of the keys whose ids names has.
func nameEach(ctx context.Context, known *keys.Service, names map[string]string) error {
	if len(names) > namesOneByOne {
		for key, err := range known.All(ctx, keys.Query{}) {
			if err != nil {
				return err
			}
			if _, ok := names[key.ID]; ok {
				names[key.ID] = key.Name
			}
		}
		return nil
	}
	for id := range names {
		key, err := known.Get(ctx, id)
		switch {
		case err == nil && key.ID == id:
			names[id] = key.Name
		case err != nil && !errors.Is(err, keys.ErrNotFound) && !errors.Is(err, keys.ErrAmbiguous):
			return err
		}
	}
	return nil
}

// usageColumn is one figure of a row.
type usageColumn struct {
	name  string // in CSV and JSON
	title string // in the table; empty leaves it out
	unit  unit
	of    func(ledger.Row) int64
}

// unit is what a figure counts.
type unit int

const (
	number unit = iota
	money       // nano-dollars, printed as dollars
	// micros are microseconds of a duration, which the table prints with a unit. A row without a first
	// event has none.
	micros
)

// has reports whether a row has the figure.
func (c usageColumn) has(r ledger.Row) bool { return c.unit != micros || r.FirstEvents.Count() > 0 }

// text is the figure as CSV has it; dollars to the last nano-dollar.
func (c usageColumn) text(r ledger.Row) string {
	switch {
	case !c.has(r):
		return ""
	case c.unit == money:
		return limit.FormatMoney(c.of(r))
	}
	return strconv.FormatInt(c.of(r), 10)
}

// cell is the figure as the table has it.
func (c usageColumn) cell(r ledger.Row) string {
	if c.unit == micros && c.has(r) {
		return (time.Duration(c.of(r)) * time.Microsecond).Round(time.Millisecond).String()
	}
	return dash(c.text(r))
}

var usageColumns = slices.Concat([]usageColumn{
	{"requests", "REQUESTS", number, func(r ledger.Row) int64 { return r.Requests }},
	{"ok", "OK", number, func(r ledger.Row) int64 { return r.OK }},
	{"failed", "FAILED", number, func(r ledger.Row) int64 { return r.Failed }},
	{"cancelled", "CANCELLED", number, func(r ledger.Row) int64 { return r.Cancelled }},
	{"interrupted", "INTERRUPTED", number, func(r ledger.Row) int64 { return r.Interrupted }},
	{"open", "OPEN", number, func(r ledger.Row) int64 { return r.Open }},
}, kindColumns(), []usageColumn{
	{"cost", "COST", money, func(r ledger.Row) int64 { return r.Cost }},
	{"unpriced", "UNPRICED", number, func(r ledger.Row) int64 { return r.Unpriced }},
	{"estimated", "ESTIMATED", number, func(r ledger.Row) int64 { return r.Estimated }},
	{"rejected", "REJECTED", number, func(r ledger.Row) int64 { return r.Rejected }},
	{"first_events", "FIRST EVENTS", number, func(r ledger.Row) int64 { return r.FirstEvents.Count() }},
	{"first_event_unknown", "FIRST EVENT UNKNOWN", number, func(r ledger.Row) int64 { return max(0, r.Requests-r.FirstEvents.Known) }},
	{"first_event_mean", "", micros, func(r ledger.Row) int64 { return r.FirstEvents.Mean().Microseconds() }},
	{"first_event_p50", "FIRST EVENT P50", micros, func(r ledger.Row) int64 { return r.FirstEvents.Quantile(0.5).Microseconds() }},
	{"first_event_p95", "FIRST EVENT P95", micros, func(r ledger.Row) int64 { return r.FirstEvents.Quantile(0.95).Microseconds() }},
})

// kindColumns are the figures of what requests used.
func kindColumns() []usageColumn {
	columns := make([]usageColumn, len(ledger.Kinds))
	for i, k := range ledger.Kinds {
		columns[i] = usageColumn{k.Name, k.Title, number, func(r ledger.Row) int64 { return *r.At(k) }}
	}
	return columns
}

// rare are the columns that the table leaves out where the sum of all rows has 0.
var rare = []string{"tool_calls", "unpriced", "estimated", "rejected", "first_events", "first_event_unknown", "first_event_p50", "first_event_p95"}

// usageTable has a last line with the sums of the others.
func usageTable(stdout io.Writer, by []string, report []ledger.Row) error {
	var total ledger.Row
	for _, row := range report {
		total.Add(row)
	}
	columns := slices.DeleteFunc(slices.Clone(usageColumns), func(c usageColumn) bool {
		return c.title == "" || slices.Contains(rare, c.name) && c.of(total) == 0
	})
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, strings.ToUpper(strings.ReplaceAll(strings.Join(by, "\t"), "_", " ")))
	for _, column := range columns {
		fmt.Fprint(table, "\t", column.title)
	}
	fmt.Fprintln(table)
	if len(report) > 1 {
		total.Values = slices.Repeat([]string{""}, len(by))
		total.Values[0] = "total"
		report = append(slices.Clone(report), total)
	}
	for _, row := range report {
		var values []string
		for _, v := range row.Values {
			quoted := strconv.Quote(v) // models are words of callers
			values = append(values, dash(quoted[1:len(quoted)-1]))
		}
		fmt.Fprint(table, strings.Join(values, "\t"))
		for _, column := range columns {
			fmt.Fprint(table, "\t", column.cell(row))
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

func usageCSV(stdout io.Writer, by []string, report []ledger.Row) error {
	out := csv.NewWriter(stdout)
	header := slices.Clone(by)
	for _, column := range usageColumns {
		header = append(header, column.name)
	}
	lines := [][]string{header}
	for _, row := range report {
		line := slices.Clone(row.Values)
		for _, column := range usageColumns {
			line = append(line, column.text(row))
		}
		lines = append(lines, line)
	}
	return out.WriteAll(lines)
}

// usageJSON prints an array of objects. Money is a text, since a number of JSON is often
// read as floating point.
func usageJSON(stdout io.Writer, by []string, report []ledger.Row) error {
	out := jsontext.NewEncoder(stdout, jsontext.AllowInvalidUTF8(true))
	tokens := []jsontext.Token{jsontext.BeginArray}
	for _, row := range report {
		tokens = append(tokens, jsontext.BeginObject)
		for i, v := range row.Values {
			tokens = append(tokens, jsontext.String(by[i]), jsontext.String(v))
		}
		for _, column := range usageColumns {
			value := jsontext.Int(column.of(row))
			switch {
			case !column.has(row):
				value = jsontext.Null
			case column.unit == money:
				value = jsontext.String(column.text(row))
			}
			tokens = append(tokens, jsontext.String(column.name), value)
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

// moment is a point in time as a flag spells it: so long ago, a day of UTC or a time.
type moment struct{ time.Time }

// UnmarshalText reads 36h, 30d, 2026-01-31 or 2026-01-31T12:00:00Z.
func (m *moment) UnmarshalText(text []byte) error {
	s := string(text)
	if ago, err := amount.Duration(s); err == nil && ago >= 0 {
		m.Time = time.Now().Add(-ago)
		return nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, time.UTC); err == nil {
			m.Time = t
			return nil
		}
	}
	return fmt.Errorf("%q is no time; write 36h or 30d for so long ago, 2026-01-31 or 2026-01-31T12:00:00Z", s)
}
