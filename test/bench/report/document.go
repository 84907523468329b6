package report

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/genway/genway/test/bench/measure"
)

// The marks in a document between which the tables stand.
const (
	beginMark = "<!-- bench report -write: begin -->\n"
	endMark   = "<!-- bench report -write: end -->\n"
)

// Document returns a document with the tables of the records between its marks, below the chart.
func Document(document []byte, records []measure.Record, chart string) ([]byte, error) {
	before, rest, begun := bytes.Cut(document, []byte(beginMark))
	_, after, ended := bytes.Cut(rest, []byte(endMark))
	if !begun || !ended {
		return nil, errors.New("there are no marks to write the tables between")
	}
	var out bytes.Buffer
	out.Write(before)
	out.WriteString(beginMark)
	site(&out, records)
	fmt.Fprintf(&out, "\n![CPU time in multiples of Go's ReverseProxy](%s)\n", chart)
	tables(&out, records)
	out.WriteString("\n" + endMark)
	out.Write(after)
	return out.Bytes(), nil
}
