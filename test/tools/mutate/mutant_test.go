package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is that of the repository.
const root = "../../.."

// Every mutant still breaks the code as it is: its text is there exactly once. Whether it
// is killed `make mutate` finds out, which takes minutes.
func TestMutantsApply(t *testing.T) {
	mutants, err := parse(embedded)
	if err != nil {
		t.Fatal(err)
	}
	if len(mutants) < 15 {
		t.Errorf("%d mutants", len(mutants))
	}
	for _, m := range mutants {
		if _, err := m.broken(root); err != nil {
			t.Error(err)
		}
		tests, err := filepath.Glob(filepath.Join(root, m.folder(), "*_test.go"))
		if err != nil || len(tests) == 0 {
			t.Errorf("%s: %s has no tests, %v", m.Name, m.folder(), err)
		}
	}
}

// What cannot be a mutant is refused by its name.
func TestParse(t *testing.T) {
	const good = "- {name: a, breaks: b, file: f, search: s, replace: r}\n"
	for text, says := range map[string]string{
		"- {name: A b, breaks: b, file: f, search: s}": "is no name",
		good + good: "a is there twice",
		"- {name: a, breaks: b, file: f, search: s, replace: s}": "changes nothing",
		"- {name: a, breaks: b, search: s}":                      "lacks",
		"- {name: a, wrong: b}":                                  "wrong",
	} {
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// A survivor, a mutant that is killed and one that does not build are distinguished, and the
// file stays as it is.
func TestTry(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.org/m\n\ngo 1.26\n",
		"a/a.go":      "package a\n\nfunc Two() int { return 1 + 1 }\n\nfunc Free() int { return 3 }\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 || word != \"word\\n\" {\n\t\tt.Error(Two())\n\t}\n}\n",
		"a/embed.go":  "package a\n\nimport _ \"embed\"\n\n//go:embed word.txt\nvar word string\n",
		"a/word.txt":  "word\n",
		"b/b.go":      "package b\n",
		"b/b_test.go": "package b\n\nimport (\n\t\"testing\"\n\n\t\"example.org/m/a\"\n)\n\nfunc TestFree(t *testing.T) {\n\tif a.Free() != 3 {\n\t\tt.Error()\n\t}\n}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := &bench{root: dir, scratch: t.TempDir(), timeout: 60e9}
	for _, c := range []struct {
		m      mutant
		passed bool
		first  string
	}{
		{mutant{Name: "killed", File: "a/a.go", Search: "1 + 1", Replace: "1 - 1"}, false, "TestTwo"},
		{mutant{Name: "embedded", File: "a/word.txt", Search: "word", Replace: "other"}, false, "TestTwo"},
		{mutant{Name: "survives", File: "a/a.go", Search: "return 3", Replace: "return 4"}, true, ""},
		{mutant{Name: "elsewhere", File: "a/a.go", Package: "b", Search: "return 3", Replace: "return 4"}, false, "TestFree"},
		{mutant{Name: "exits", File: "a/a.go", Search: "return 1 + 1", Replace: "panic(0)"}, false, "TestTwo"},
	} {
		v, err := b.mutate(t.Context(), &c.m)
		if err != nil || v.passed != c.passed || v.first != c.first {
			t.Errorf("%s: %+v, %v", c.m.Name, v, err)
		}
	}
	if _, err := b.mutate(t.Context(), &mutant{Name: "broken", File: "a/a.go", Search: "1 + 1", Replace: "1 +"}); err == nil {
		t.Error("a mutant that does not build is taken for killed")
	}
	if _, err := b.mutate(t.Context(), &mutant{Name: "stale", File: "a/a.go", Search: "return", Replace: ""}); !errors.Is(err, errStale) {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a", "a.go")); err != nil || !strings.Contains(string(text), "1 + 1") {
		t.Errorf("%s, %v", text, err)
	}
}
