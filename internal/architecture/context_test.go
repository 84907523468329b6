package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// contextValues are the files of the core that put values into contexts, with the number of
// places and the reason. The state of a call belongs into call.Record.
var contextValues = map[string]struct {
	places int
	reason string
}{
	"core/call/record.go":                {1, "the record of a call"},
	"core/intake/intake.go":              {2, "what a tap decides, before a call has a record"},
	"core/audit/change.go":               {1, "the actor of a change, of commands too"},
	"core/upstream/credential/google.go": {1, "the HTTP client of the library for OAuth 2.0"},
	"core/upstream/credential/entra.go":  {1, "the HTTP client of the library for OAuth 2.0"},
}

// The core keeps the state of a call in one record, which is one value of the call's context.
func TestOneRecordOfACall(t *testing.T) {
	found := map[string]int{}
	for _, root := range []string{"core", "sandbox"} {
		err := fs.WalkDir(os.DirFS("../.."), root, func(file string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "WithValue" {
					found[file]++
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for file, n := range found {
		if n != contextValues[file].places {
			t.Errorf("%s puts %d values into contexts, %d are allowed: make it a field of call.Record", file, n, contextValues[file].places)
		}
	}
	for file := range contextValues {
		if found[file] == 0 {
			t.Errorf("%s puts no value into a context: take it out of the list", file)
		}
	}
}
