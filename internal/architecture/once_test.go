package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// matcher is the package that alone matches names with patterns, and merger the one that alone merges the
// JSON of a direct caller into a body.
const matcher, merger = "core/glob", "codec/member"

// matches are functions of the standard library that match a name with a pattern by rules of their own.
var matches = []string{"path.Match", "filepath.Match"}

// globs are libraries that do.
var globs = []string{"github.com/gobwas/glob", "github.com/bmatcuk/doublestar", "github.com/ryanuber/go-glob", "github.com/IGLOU-EU/go-wildcard"}

// Models, routes, prices and policies of keys have one kind of pattern, and extra_json has one merge: code that
// does the same by rules of its own would answer the same name or body in two ways.
func TestOnePlaceForPatternsAndExtraJSON(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2 || slices.Contains([]string{"gen", "node_modules"}, file)) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		for _, place := range elsewhere(t, path, filepath.ToSlash(filepath.Dir(file))) {
			t.Errorf("%s:%s", file, place)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// elsewhere returns the places of a file of package pkg that match patterns or take extra_json apart without the
// package for it, as "line: what to do".
func elsewhere(t *testing.T, path, pkg string) []string {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	found := func(n ast.Node, advice string) {
		places = append(places, files.Position(n.Pos()).String()[len(path)+1:]+": "+advice)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if slices.ContainsFunc(globs, func(glob string) bool { return strings.HasPrefix(strings.Trim(n.Path.Value, `"`), glob) }) {
				found(n, "match names with "+matcher)
			}
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && slices.Contains(matches, of.Name+"."+n.Sel.Name) && pkg != matcher {
				found(n, "match names with "+matcher)
			}
		case *ast.FuncDecl:
			if pkg != matcher && matchesNames(n.Type) {
				found(n, n.Name.Name+" matches a name with a pattern: call "+matcher)
			}
		case *ast.CallExpr:
			if pkg != merger && !isMerge(n.Fun) && slices.ContainsFunc(n.Args, isExtraJSON) && decodes(n.Fun) {
				found(n, "merge extra_json with "+merger+".Merge")
			}
		}
		return true
	})
	return places
}

// matchesNames reports whether a function takes a pattern and another text, and returns a bool.
func matchesNames(f *ast.FuncType) bool {
	if f.Results == nil || len(f.Results.List) != 1 || !isIdent(f.Results.List[0].Type, "bool") {
		return false
	}
	var names []string
	for _, p := range f.Params.List {
		for _, name := range p.Names {
			if isIdent(p.Type, "string") {
				names = append(names, name.Name)
			}
		}
	}
	return len(names) == 2 && slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains([]string{"pattern", "glob", "wildcard"}, name)
	})
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func isMerge(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Merge" && isIdent(s.X, "member")
}

// decodes reports whether a function is one of a JSON library.
func decodes(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && (strings.HasPrefix(s.Sel.Name, "Unmarshal") || strings.HasPrefix(s.Sel.Name, "Decode") || strings.HasPrefix(s.Sel.Name, "Patch"))
}

// isExtraJSON reports whether an argument is the field extra_json, as text or as bytes.
func isExtraJSON(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name == "ExtraJson" || e.Sel.Name == "GetExtraJson"
	case *ast.CallExpr:
		return isExtraJSON(e.Fun) || slices.ContainsFunc(e.Args, isExtraJSON)
	}
	return false
}

// The test finds what it is for, and nothing else.
func TestElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.go")
	const text = `package x

import "github.com/gobwas/glob"

func fits(pattern, name string) bool { return glob.MustCompile(pattern).Match(name) }

func file(pattern string) bool { return len(pattern) > 0 }

func model(r request, rows []string) (any, error) {
	ok, _ := path.Match(rows[0], r.Model)
	if ok {
		return member.Merge(nil, r.ExtraJson, "extra_json", nil)
	}
	return nil, json.Unmarshal([]byte(r.GetExtraJson()), &r)
}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"3:8: match names with core/glob", "5:1: fits matches a name with a pattern: call core/glob",
		"10:11: match names with core/glob", "14:14: merge extra_json with codec/member.Merge",
	}
	if got := elsewhere(t, path, "x"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
