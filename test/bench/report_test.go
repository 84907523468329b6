package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Results are written into a document between its marks, with the chart beside it; a document
// without marks stays as it is.
func TestReportWrite(t *testing.T) {
	dir := t.TempDir()
	results, document, other := filepath.Join(dir, "results.jsonl"), filepath.Join(dir, "performance.md"), filepath.Join(dir, "other.md")
	for path, text := range map[string]string{
		results:  `{"time":"2026-01-01T00:00:00Z","kind":"startup","target":"nginx","round":0,"start_seconds":0.012,"binary_bytes":1200000}` + "\n",
		document: "# Before\n\n<!-- bench report -write: begin -->\nold\n<!-- bench report -write: end -->\n\nAfter\n",
		other:    "# Without\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"report", "-write", document, results}, &out, &out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(document)
	if err != nil || !strings.Contains(string(got), "(performance.svg)") || !strings.Contains(string(got), "| nginx | 12 | 1.2 |") || strings.Contains(string(got), "old") || !strings.HasSuffix(string(got), "\nAfter\n") {
		t.Errorf("%s, %v", got, err)
	}
	if chart, err := os.ReadFile(filepath.Join(dir, "performance.svg")); err != nil || !strings.HasPrefix(string(chart), "<svg ") {
		t.Errorf("%s, %v", chart, err)
	}
	if err := run(t.Context(), []string{"report", "-write", other, results}, &out, &out); err == nil || !strings.Contains(err.Error(), "other.md") {
		t.Error(err)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "# Without\n" {
		t.Errorf("%q, %v", text, err)
	}
}
