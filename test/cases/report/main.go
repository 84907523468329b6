// Report makes docs/reference/cases.md of a run of the cases: it reads what
//
//	go test -json -run '^TestCases$' ./test/cases/...
//	go test -C test/conformance -json -run '^TestCases$' ./programs ./observability
//
// write, one after the other, and ends with status 1 when a case failed or none ran. What failed
// goes to standard error, in the words of the tests.
//
// It must not import anything of ours.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	out := flag.String("o", "", "the file to write; standard output if empty")
	flag.Parse()
	if err := run(os.Stdin, *out, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// run reads a run's events and writes the table to the file out, or to stdout.
func run(events io.Reader, out string, stdout, stderr io.Writer) error {
	results, err := read(events)
	if err != nil {
		return err
	}
	table := results.table()
	if out == "" {
		_, err = stdout.Write(table)
	} else {
		err = os.WriteFile(out, table, 0o644)
	}
	if err != nil {
		return err
	}
	fmt.Fprint(stderr, results.failures())
	switch failed := results.failed(); {
	case len(results.cases) == 0:
		return errors.New("no case ran")
	case failed > 0 || results.broken:
		return fmt.Errorf("%d of %d cases failed", failed, len(results.cases))
	}
	return nil
}
