package catalog_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/catalog"
	"github.com/goccy/go-yaml"
)

var update = flag.Bool("update", false, "rewrite the table of rules in docs/models.md")

// docs/models.md has the rules of the rows that ship.
func TestDocs(t *testing.T) {
	const begin, end = "<!-- rules: written by go test ./core/catalog -update -->\n", "<!-- /rules -->\n"
	file := filepath.Join("..", "..", "docs", "models.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		t.Fatalf("%s has no %s and %s", file, begin, end)
	}
	want := fmt.Sprintf("%s%s%s%s%s", before, begin, rules(t), end, after)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s differs from core/catalog/models.yaml: go test ./core/catalog -update", file)
	}
}

// rules is the table of the rows that say more of a model than its size.
func rules(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("models.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Models []catalog.Row }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString("| model | thinks | is asked to think by | refuses | refuses while it thinks | one of | source, read |\n|---|---|---|---|---|---|---|\n")
	for _, r := range file.Models {
		while := names(r.RefusesThinking)
		if r.ThinkingTopP != nil {
			while += fmt.Sprintf(", `top_p` below %v", *r.ThinkingTopP)
		}
		forms := names(r.Thinking)
		if r.Thinking != nil && len(*r.Thinking) == 0 {
			forms = "does not think"
		}
		if len(r.Efforts) > 0 {
			forms = strings.TrimPrefix(forms+"; efforts "+strings.Join(r.Efforts, ", "), "; ")
		}
		switch {
		case r.MinBudget != nil && r.MaxBudget != nil:
			forms = strings.TrimPrefix(fmt.Sprintf("%s; budgets %d to %d", forms, *r.MinBudget, *r.MaxBudget), "; ")
		case r.MinBudget != nil:
			forms = strings.TrimPrefix(fmt.Sprintf("%s; budgets from %d", forms, *r.MinBudget), "; ")
		case r.MaxBudget != nil:
			forms = strings.TrimPrefix(fmt.Sprintf("%s; budgets up to %d", forms, *r.MaxBudget), "; ")
		}
		refuses, one := names(r.Refuses), names(r.OneOf)
		if r.Thinks+forms+refuses+while+one != "" {
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s | %s | %s, %s |\n", r.Model, r.Thinks, forms, refuses, while, one, r.Source, r.Read)
		}
	}
	return out.String()
}

func names(list *[]string) string {
	if list == nil || len(*list) == 0 {
		return ""
	}
	return "`" + strings.Join(*list, "`, `") + "`"
}
