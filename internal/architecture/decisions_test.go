package architecture_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The list of decisions has a line for each record, with the record's own title.
func TestDecisionsAreListed(t *testing.T) {
	const folder = "../../docs/decisions"
	list, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "0*.md"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no records")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(string(text), "\n")
		line := "- [" + strings.TrimPrefix(title, "# ") + "](" + filepath.Base(file) + ")\n"
		if strings.Count(string(list), line) != 1 {
			t.Errorf("docs/decisions/README.md does not have this line once: %s", line)
		}
	}
	if lines := strings.Count(string(list), "\n- ["); lines != len(files) {
		t.Errorf("%d lines for %d records", lines, len(files))
	}
}
