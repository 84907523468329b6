package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/genway/genway/test/bench/measure"
)

// A row that is dearer than before by more than this part of it is named.
const dearer = 0.05

// kept are the tables whose rows must not become dearer, by the beginnings of their titles, and the columns that count, by
// parts of their heads: multiples, which another machine does not change by much, memory and sizes.
var kept = []struct {
	title   string
	columns []string
}{
	{"CPU time in multiples", []string{"genway, "}},
	{"Aims", []string{"measured"}},
	{"Protocols, ", []string{"× own chat"}},
	{"Memory ", []string{"idle", "peak"}},
	{"Start and size", []string{"start", "binaries"}},
}

// Compare writes the rows of Genway that are dearer in the records than in a document with the tables of an earlier run.
func Compare(out io.Writer, document []byte, records []measure.Record) {
	var tabled bytes.Buffer
	tables(&tabled, records)
	before, now := cells(document), cells(tabled.Bytes())
	found := false
	for _, c := range now {
		was, ok := before.find(c)
		if !ok || was.value <= 0 || c.value <= was.value*(1+dearer) {
			continue
		}
		if !found {
			found = true
			fmt.Fprint(out, "\n### Dearer than the last figures by more than a twentieth\n\n| table | row | column | then | now |\n|---|---|---|---:|---:|\n")
		}
		fmt.Fprintf(out, "| %s | %s | %s | %g | %g |\n", c.table, c.row, c.column, was.value, c.value)
	}
	if !found {
		fmt.Fprintln(out, "\nNo row is dearer than the last figures by more than a twentieth.")
	}
}

// cell is a figure of a table, by the names of its table, its row and its column. A name that is there again has a number.
type cell struct {
	table, row, column string
	value              float64
}

type cellList []cell

func (l cellList) find(like cell) (cell, bool) {
	for _, c := range l {
		if c.table == like.table && c.row == like.row && c.column == like.column {
			return c, true
		}
	}
	return cell{}, false
}

// cells reads the figures of a document that count.
func cells(document []byte) (list cellList) {
	var title string
	var head, columns []string
	for line := range strings.Lines(string(document)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "### "); ok {
			title, head, columns = name, nil, nil
			for _, k := range kept {
				if strings.HasPrefix(title, k.title) {
					columns = k.columns
				}
			}
			continue
		}
		if columns == nil || !strings.HasPrefix(line, "| ") {
			continue
		}
		fields := strings.Split(strings.Trim(line, "| "), " | ")
		if head == nil {
			if head = fields; strings.HasPrefix(line, "|  |") { // the first has no name
				head = append([]string{""}, fields...)
			}
			continue
		}
		row := fields[0]
		if len(head) > 1 && head[1] == "asked for" { // the first two name the row
			row += ", " + fields[1]
		}
		if head[0] == "target" && !strings.HasPrefix(row, "genway, ") {
			continue
		}
		for i := 1; i < min(len(fields), len(head)); i++ {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil || !counts(head[i], columns) {
				continue
			}
			name, left := head[i], head[i-1]
			switch of, isPair := strings.CutSuffix(left, ", µs"); {
			case isPair && !strings.HasPrefix(of, "genway, "):
				continue // a peer's
			case isPair, strings.HasSuffix(left, ": aim"):
				name = left + ", " + name
			}
			list = append(list, cell{title, row, name, value})
		}
	}
	return list
}

func counts(column string, columns []string) bool {
	for _, c := range columns {
		if strings.HasPrefix(column, c) {
			return true
		}
	}
	return false
}
