// Package growth measures what grows with what an installation accumulates: keys, routes, rows
// of the ledger, limits that are in use. It uses the gateway's packages, not its programs.
package growth

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Row is what was measured of one thing at one size.
type Row struct {
	// Name is the thing that there are N of.
	Name    string
	N       int64
	Metrics []Metric
}

// Metric is one figure.
type Metric struct {
	What, Unit string
	Value      float64
}

// Measure makes N of a thing in a folder of its own, and measures.
type Measure func(ctx context.Context, dir string, n int64) (Row, error)

// Print prints rows as a table of Markdown for each name: a line a metric, a column a size.
func Print(out io.Writer, rows []Row) error {
	for len(rows) > 0 {
		name, n := rows[0].Name, 0
		for n < len(rows) && rows[n].Name == name {
			n++
		}
		if err := printTable(out, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func printTable(out io.Writer, rows []Row) error {
	header, rule := []string{"| " + rows[0].Name}, "|---"+strings.Repeat("|---:", len(rows))
	for _, r := range rows {
		header = append(header, strconv.FormatInt(r.N, 10))
	}
	fmt.Fprintf(out, "%s |\n%s|\n", strings.Join(header, " | "), rule)
	for i, m := range rows[len(rows)-1].Metrics {
		cells := []string{"| " + m.What + ", " + m.Unit}
		for _, r := range rows {
			value := ""
			if i < len(r.Metrics) {
				value = format(r.Metrics[i].Value)
			}
			cells = append(cells, value)
		}
		fmt.Fprintln(out, strings.Join(cells, " | ")+" |")
	}
	_, err := fmt.Fprintln(out)
	return err
}

// format has three digits that count.
func format(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// timed is how long do takes, in milliseconds: the least of so many times.
func timed(times int, do func() error) (float64, error) {
	least := time.Duration(0)
	for n := range times {
		began := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		if took := time.Since(began); n == 0 || took < least {
			least = took
		}
	}
	return float64(least.Microseconds()) / 1000, nil
}
