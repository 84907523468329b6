package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A function returns, it does not give; a bound is a maximum or a minimum.
func TestWords(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		if strings.HasPrefix(file, "gen/") {
			continue
		}
		text, err := os.ReadFile("../../" + file)
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Type.Results == nil && strings.HasPrefix(f.Doc.Text(), f.Name.Name+" returns ") {
				t.Errorf("%s: %s returns nothing, and its comment says what it returns", file, f.Name.Name)
			}
		}
		for i, line := range strings.Split(string(text), "\n") {
			for word, but := range words {
				if word.MatchString(line) {
					t.Errorf("%s:%d: %s: %s", file, i+1, strings.TrimSpace(line), but)
				}
			}
		}
	}
}

var words = map[*regexp.Regexp]string{
	regexp.MustCompile(`^\s*// ([Ii]t|\w+ (\w+ )?and) gives\b`):     "it returns",
	regexp.MustCompile(`^(const|var|\t)\s*(most|least)[A-Z]\w* +=`): "max…, min…",
}

// Pages are written in plain sentences. The table of cases has the words of the cases, and is not looked at.
func TestWordsOfPages(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		text, err := os.ReadFile("../../" + file)
		if os.IsNotExist(err) || file == "docs/reference/cases.md" {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := notPlain.FindString(line); found != "" {
				t.Errorf("%s:%d: %q is not plain: %s", file, i+1, found, line)
			}
		}
	}
}

// notPlain are turns that need a second reading; "gives up" is none.
var notPlain = regexp.MustCompile(`\b(gives? ([^u]|u[^p])|stands?\b|those of\b|that of\b|(is|are) of\b)`)
