package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/genway/genway/core/ledger"
	"github.com/go-json-experiment/json/jsontext"
)

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
