package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/genway/genway/test/bench/measure"
	"github.com/genway/genway/test/bench/report"
)

func runReport(_ context.Context, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("report FILE", stderr)
	last := flags.String("last", "", "document with earlier figures: rows that are dearer by more than a twentieth are printed too")
	write := flags.String("write", "", "document to write the tables into, between its marks, with a chart beside it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("report: name one file of results")
	}
	if *write == "" {
		return errors.Join(printReport(stdout, flags.Arg(0)), compareReport(stdout, flags.Arg(0), *last))
	}
	records, err := readRecords(flags.Arg(0))
	if err != nil {
		return err
	}
	return writeReport(*write, records)
}

// writeReport replaces what a document has between its marks, and writes the chart.
func writeReport(path string, records []measure.Record) error {
	document, err := os.ReadFile(path) //nolint:gosec // The user names it.
	if err != nil {
		return err
	}
	chart := strings.TrimSuffix(path, filepath.Ext(path)) + ".svg"
	text, err := report.Document(document, records, filepath.Base(chart))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	const readable = 0o644
	if err := os.WriteFile(chart, report.Chart(records), readable); err != nil {
		return err
	}
	return os.WriteFile(path, text, readable) //nolint:gosec // Documents are for all to read.
}

func printReport(stdout io.Writer, path string) error {
	records, err := readRecords(path)
	if err != nil {
		return err
	}
	report.Markdown(stdout, records)
	return nil
}

// compareReport prints what is dearer than in a document; nothing without one.
func compareReport(stdout io.Writer, path, document string) error {
	if document == "" {
		return nil
	}
	text, err := os.ReadFile(document) //nolint:gosec // The user names it.
	if err != nil {
		return err
	}
	records, err := readRecords(path)
	if err != nil {
		return err
	}
	report.Compare(stdout, text, records)
	return nil
}

func readRecords(path string) (records []measure.Record, err error) {
	results, err := os.ReadFile(path) //nolint:gosec // The user names it.
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(results)); decoder.More(); {
		var r measure.Record
		if err := decoder.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		records = append(records, r)
	}
	return records, nil
}
