package carried

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/reference/carried.md")

const documentFile = "../../docs/reference/carried.md"

// document is the table of docs/reference/carried.md.
type document struct {
	sections []*section
	// answers is the first section about answers.
	answers int
}

type section struct {
	title string
	rows  []*row
}

type row struct {
	name  string
	cells []finding
}

func (d *document) section(title string) {
	d.sections = append(d.sections, &section{title: title})
}

func (d *document) row(p path, sample int) *row {
	name := p.String()
	if !p.leaf().IsMap() {
		if v := valueText(p.leaf(), values(p.leaf(), 0)[sample]); v != "" {
			name += ": " + v
		}
	}
	last := d.sections[len(d.sections)-1]
	last.rows = append(last.rows, &row{name: name})
	return last.rows[len(last.rows)-1]
}

// check holds docs/reference/carried.md against the table, or writes it.
func (d *document) check(t *testing.T) {
	t.Helper()
	text := d.text()
	if *update && !t.Failed() {
		if err := os.WriteFile(documentFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Error("docs/reference/carried.md is not what the codecs do: run go test ./codec/carried -update")
	}
}

const introduction = `# What each protocol carries

Each field of the [typed contract](../../proto/genway/v1/text.proto), set alone in a request and
encoded for an upstream of each protocol. This page is written by a test of the codecs
(` + "`go test ./codec/carried -update`" + `), which fails for a field that is neither in the body, nor
lost or refused by name.

| cell | means |
|---|---|
| yes | the field is in the upstream's body, as it is or in the protocol's own form |
| yes N | the body means the same without it; reason N is below |
| lost N | the request is sent without it, and the losses name it; reason N is below |
| refused N | the request is refused by the field's name |
| – | what the field is in is refused already |

Native fields here belong to another protocol: the members of a caller's own protocol reach an
upstream of it as they are.
`

const answerIntroduction = `
# What callers get of an answer

Each field of an answer, set alone and encoded for a caller of each protocol. An answer and a
stream that amounts to it say the same.
`

func (d *document) text() string {
	var b strings.Builder
	b.WriteString(introduction)
	reasons := map[string]int{}
	var order []string
	cell := func(f finding) string {
		word := map[verdict]string{mapped: "yes", otherMember: "yes", lost: "lost", refused: "refused", impossible: "–", silent: "silent"}[f.verdict]
		if f.reason == "" {
			return word
		}
		if reasons[f.reason] == 0 {
			order = append(order, f.reason)
			reasons[f.reason] = len(order)
		}
		return fmt.Sprintf("%s %d", word, reasons[f.reason])
	}
	for i, s := range d.sections {
		if i == d.answers {
			b.WriteString(answerIntroduction)
		}
		fmt.Fprintf(&b, "\n## %s\n\n| field | chat | responses | messages | generateContent |\n|---|---|---|---|---|\n", s.title)
		for _, r := range s.rows {
			fmt.Fprintf(&b, "| `%s` |", r.name)
			for _, f := range r.cells {
				b.WriteString(" " + cell(f) + " |")
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n## Reasons\n\n")
	for i, reason := range order {
		fmt.Fprintf(&b, "%d. %s\n", i+1, strings.ReplaceAll(reason, "|", "\\|"))
	}
	return b.String()
}
