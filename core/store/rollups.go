package store

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/core/ledger"
)

// rollRows is how many roll-ups are written with a statement.
const rollRows = 50

// rolledBy are the columns that a period's roll-ups have a row for each combination of.
var rolledBy = prunedBy[1:]

// hourStatement sums up the closed rows of an hour.
func hourStatement(d *dialect) string {
	values := slices.Clone(rolledBy)
	for _, s := range sums {
		values = append(values, s.ofEntries(d.sum))
	}
	return `SELECT ` + strings.Join(values, ", ") + ` FROM ledger WHERE start_time >= ? AND start_time < ? AND outcome <> 'open' GROUP BY ` + strings.Join(rolledBy, ", ")
}

// rollupColumns are those of ledger_rollups.
var rollupColumns = func() []string {
	columns := append([]string{"level", "period"}, rolledBy...)
	for _, s := range sums {
		columns = append(columns, s.column)
	}
	return columns
}()

// insertRollups writes an hour's sums as they are read.
func insertRollups(ctx context.Context, tx transaction, hour int64, rows *result, more bool) error {
	var args []any
	row := "(" + strings.Repeat("?, ", len(rollupColumns)-1) + "?)"
	insert := func() error {
		n := len(args) / len(rollupColumns)
		if n == 0 {
			return nil
		}
		_, err := tx.exec(ctx, `INSERT INTO ledger_rollups (`+strings.Join(rollupColumns, ", ")+`) VALUES `+row+strings.Repeat(", "+row, n-1), args...)
		args = args[:0]
		return err
	}
	for ; more; more = rows.Next() {
		texts, r := make([]string, len(rolledBy)), ledger.Row{}
		figures := sumsOf(&r)
		var into []any
		for i := range texts {
			into = append(into, &texts[i])
		}
		if err := rows.Scan(append(into, figures...)...); err != nil {
			return err
		}
		args = append(args, byHour, hour)
		for _, t := range texts {
			args = append(args, t)
		}
		args = append(args, figures...)
		if len(args) == rollRows*len(rollupColumns) {
			if err := insert(); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return insert()
}

// dayStatement adds up the hours of a day.
func dayStatement(d *dialect, level int) string {
	by, values := slices.Clone(rolledBy), []string(nil)
	if level == byDayAlone {
		by = by[2:]
		values = append(values, "''", "''")
	}
	values = append(values, by...)
	for _, s := range sums {
		values = append(values, d.sum(s.column))
	}
	return `INSERT INTO ledger_rollups (` + strings.Join(rollupColumns, ", ") + `) SELECT ` + strconv.Itoa(level) + `, CAST(? AS BIGINT), ` + strings.Join(values, ", ") +
		` FROM ledger_rollups WHERE level = 0 AND period >= ? AND period < ? GROUP BY ` + strings.Join(by, ", ")
}
