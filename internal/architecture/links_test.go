package architecture_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fenced    = regexp.MustCompile("(?s)\n```.*?\n *```")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	namedPage = regexp.MustCompile(`\bdocs/(?:(?:reference|decisions)/)?[\w-]+\.md\b`)
	decision  = regexp.MustCompile(`\b(?:[Dd]ecision |docs/decisions/)(\d+)\b`)
	notInID   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// Each link of a page leads to a file, and to a heading of it; each page and each decision that code,
// comments and error texts name exists.
func TestLinks(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files").Output()
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		text, err := os.ReadFile("../../" + file)
		if err != nil || strings.HasPrefix(file, "test/contributing/") {
			continue // removed, and not committed yet; or a folder by a symbolic link
		}
		for _, found := range decision.FindAllStringSubmatch(string(text), -1) {
			if files, _ := filepath.Glob("../../docs/decisions/" + strings.Repeat("0", max(0, 4-len(found[1]))) + found[1] + "-*.md"); len(files) != 1 {
				t.Errorf("%s names decision %s, which is %q", file, found[1], files)
			}
		}
		if filepath.Ext(file) != ".md" {
			for _, page := range namedPage.FindAllString(string(text), -1) {
				if _, err := os.Stat("../../" + page); err != nil {
					t.Errorf("%s names %s: %v", file, page, err)
				}
			}
			continue
		}
		pages++
		for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			to, heading, _ := strings.Cut(found[1], "#")
			if strings.Contains(to, ":") {
				continue
			}
			if to = filepath.Join("..", "..", filepath.Dir(file), to); found[1][0] == '#' {
				to = "../../" + file
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", file, err)
			} else if heading != "" && !headings(t, to)[heading] {
				t.Errorf("%s: %s has no heading %s", file, to, heading)
			}
		}
	}
	if pages < 30 {
		t.Errorf("only %d pages", pages)
	}
}

// headings are the identifiers that GitHub makes of the headings of a page.
func headings(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for line := range strings.Lines(fenced.ReplaceAllString(string(text), "")) {
		if title := strings.TrimLeft(line, "#"); len(title) < len(line) && title[0] == ' ' {
			ids[strings.ReplaceAll(notInID.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")] = true
		}
	}
	return ids
}
