package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// declared is a type of a codec.
type declared struct {
	pkg string
	typ ast.Expr
}

// parse returns the types of a codec, by their names.
func parse(dir, pkg string) (map[string]declared, error) {
	types := map[string]declared{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, filepath.Join(dir, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					types[t.Name.Name] = declared{pkg: pkg, typ: t.Type}
				}
			}
		}
	}
	return types, nil
}

// member is one of a struct's.
type member struct {
	name string
	typ  ast.Expr
}

// membersOf are the members that a struct names by its tags, and the structs whose members are
// its own, too.
func membersOf(of *ast.StructType) (members []member, embedded []ast.Expr, err error) {
	for _, f := range of.Fields.List {
		if len(f.Names) == 0 {
			embedded = append(embedded, f.Type)
			continue
		}
		if f.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Names[0], err)
		}
		if name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); name != "" {
			members = append(members, member{name: name, typ: f.Type})
		}
	}
	return members, embedded, nil
}
