package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// event is one line of go test -json (go doc test2json).
type event struct {
	Action, Test, Output string
	// Key and Value are those of t.Attr.
	Key, Value string
}

// results has the outcome of each case in a run.
type results struct {
	cases map[string]*result
	// broken says that something failed that is no case: the build, a leak.
	broken bool
	rest   strings.Builder
}

// result is that of a case. One that has tests in several packages passes when all do.
type result struct {
	proves         []string
	passed, failed bool
	output         strings.Builder
}

// caseName is the name of a case's test, and what is below it.
var caseName = regexp.MustCompile(`^TestCases/([A-Z]\d+)(/.*)?$`)

func read(r io.Reader) (*results, error) {
	all := &results{cases: map[string]*result{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(&all.rest, lines.Text()) // the build's own words
			all.broken = true
			continue
		}
		all.add(e)
	}
	return all, lines.Err()
}

func (r *results) add(e event) {
	name := caseName.FindStringSubmatch(e.Test)
	if name == nil {
		switch e.Action {
		case "fail":
			r.broken = true
		case "output", "build-output":
			r.rest.WriteString(e.Output)
		}
		return
	}
	c := r.cases[name[1]]
	if c == nil {
		c = &result{}
		r.cases[name[1]] = c
	}
	switch e.Action {
	case "attr":
		if e.Key == "proves" {
			c.proves = append(c.proves, e.Value)
		}
	case "output":
		c.output.WriteString(e.Output)
	case "pass", "fail":
		if name[2] == "" {
			c.passed, c.failed = c.passed || e.Action == "pass", c.failed || e.Action == "fail"
		}
	}
}

func (c *result) ok() bool { return c.passed && !c.failed }

func (r *results) failed() (n int) {
	for _, c := range r.cases {
		if !c.ok() {
			n++
		}
	}
	return n
}

// ids are the cases by letter, then number.
func (r *results) ids() []string {
	return slices.SortedFunc(maps.Keys(r.cases), func(a, b string) int {
		m, _ := strconv.Atoi(a[1:])
		n, _ := strconv.Atoi(b[1:])
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(m, n))
	})
}

// table is the document.
func (r *results) table() []byte {
	var b bytes.Buffer
	b.WriteString(`# The cases

What has gone wrong in gateways like this one, and what Genway promises instead.
Each case is a subtest ` + "`TestCases/ID`" + `: in test/cases, which drives the edge and
the core in one process against a fake upstream over HTTP and looks at the bytes on both
sides, or in test/conformance/programs, which has the real programs, on SQLite and on PostgreSQL.

` + "`make cases`" + ` runs them and writes this table; do not edit it.

| case | what it proves | result |
|---|---|---|
`)
	for _, id := range r.ids() {
		c := r.cases[id]
		verdict := "fail"
		if c.ok() {
			verdict = "pass"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", id, strings.ReplaceAll(strings.Join(c.proves, "; "), "|", `\|`), verdict)
	}
	fmt.Fprintf(&b, "\n%d cases, %d passed.\n", len(r.cases), len(r.cases)-r.failed())
	return b.Bytes()
}

// failures are the words of what failed.
func (r *results) failures() string {
	var b strings.Builder
	for _, id := range r.ids() {
		if c := r.cases[id]; !c.ok() {
			b.WriteString(c.output.String())
		}
	}
	if r.broken {
		b.WriteString(r.rest.String())
	}
	return b.String()
}
