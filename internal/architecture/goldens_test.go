package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Each golden file is one that a test reads: a file whose name no pattern of a test matches would
// look like a case and prove nothing.
func TestEveryGoldenIsRun(t *testing.T) {
	for _, folder := range []string{"codec/chat", "codec/responses", "codec/messages", "codec/generatecontent", "codec/interactions", "codec/images", "core/price/foreign"} {
		root := "../../" + folder
		patterns := goldenPatterns(t, root)
		err := filepath.WalkDir(filepath.Join(root, "testdata"), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".txtar" {
				return err
			}
			if name, _ := filepath.Rel(root, path); !matchesAny(name, patterns) {
				t.Errorf("%s/%s: no test reads it; its tests read %s", folder, name, strings.Join(patterns, ", "))
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// goldenPatterns are the patterns of golden files that the tests of a package give to codectest.Golden
// or to filepath.Glob.
func goldenPatterns(t *testing.T, root string) []string {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(root, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for _, test := range tests {
		if filepath.Base(test) == "fuzz_test.go" { // its seeds are the cases of others
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), test, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			called, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || called.Sel.Name != "Golden" && called.Sel.Name != "Glob" {
				return true
			}
			for _, argument := range call.Args {
				if text, ok := argument.(*ast.BasicLit); ok && text.Kind == token.STRING {
					if pattern, err := strconv.Unquote(text.Value); err == nil && strings.HasSuffix(pattern, ".txtar") {
						patterns = append(patterns, pattern)
					}
				}
			}
			return true
		})
	}
	return patterns
}

func matchesAny(name string, patterns []string) bool {
	for _, pattern := range patterns {
		if ok, err := filepath.Match(pattern, filepath.ToSlash(name)); err == nil && ok {
			return true
		}
	}
	return false
}
