package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// pkg is what the generator knows of a package.
type pkg struct {
	name     string
	types    map[string]ast.Expr // the type that each name stands for
	structs  map[string]*object
	order    []*object
	methods  map[string]bool // written by hand, as Type.Method
	settings settingOptions
}

// settingOptions say how a codec has the settings.
type settingOptions struct {
	// integer and list are the codec's own types of whole numbers and of lists of words.
	integer, list string
	// dialects reports that upstreams differ in the members that they take.
	dialects bool
	// pieces reports that bodies are written piece by piece, not from structs.
	pieces bool
}

func (o *settingOptions) set(option string) error {
	name, value, _ := strings.Cut(option, "=")
	switch name {
	case "integer":
		o.integer = value
	case "list":
		o.list = value
	case "dialects":
		o.dialects = true
	case "pieces":
		o.pieces = true
	default:
		return fmt.Errorf("unknown option %q of the settings", option)
	}
	return nil
}

// object is a struct that is a JSON object.
type object struct {
	name              string
	fields            []field
	embeds            []string // what it embeds: parts, and at most one other struct
	embedded          string   // the struct that is no part whose members are members, too
	extra             string   // the field that takes the members no field is for
	span, whole       string
	wholeRaw          bool
	text              string // the field that a string is read into
	read, write, head bool
	members           bool // of which the members are written without the object, too
	part              bool // whose members are those of each struct that embeds it
}

// field is a member.
type field struct {
	name, member string
	typ          ast.Expr
	options      []string
}

func (f *field) has(option string) bool { return slices.Contains(f.options, option) }

func (f *field) by() string {
	for _, o := range f.options {
		if method, ok := strings.CutPrefix(o, "by="); ok {
			return method
		}
	}
	return ""
}

func parse(dir string, settings []byte) (*pkg, error) {
	p := &pkg{types: map[string]ast.Expr{}, structs: map[string]*object{}, methods: map[string]bool{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == fileName || name == settingsFile {
			continue
		}
		file, err := parser.ParseFile(files, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.name = file.Name.Name
		if err := p.file(file); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if settings != nil {
		file, err := parser.ParseFile(files, settingsFile, settings, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if err := p.file(file); err != nil {
			return nil, fmt.Errorf("%s: %w", settingsFile, err)
		}
	}
	for _, s := range p.order {
		for _, name := range s.embeds {
			if of := p.structs[name]; of == nil || !of.part {
				s.embedded = name
				continue
			} else if s.fields = append(s.fields, of.fields...); len(s.fields) > 64 {
				return nil, fmt.Errorf("%s: more than 64 members", s.name)
			}
		}
	}
	for _, s := range slices.Clone(p.order) {
		p.spread(s, s.read, s.write)
	}
	return p, nil
}

func (p *pkg) file(file *ast.File) error {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				p.methods[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				p.types[t.Name.Name] = t.Type
				doc := t.Doc
				if doc == nil {
					doc = d.Doc
				}
				if of, ok := t.Type.(*ast.StructType); ok {
					if err := p.object(t.Name.Name, of, doc); err != nil {
						return fmt.Errorf("%s: %w", t.Name.Name, err)
					}
				}
			}
		}
	}
	return nil
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// directives reads the directives in a type's comment.
func (p *pkg) directives(s *object, doc *ast.CommentGroup) error {
	if doc == nil {
		return nil
	}
	for _, c := range doc.List {
		if options, ok := strings.CutPrefix(c.Text, "//settings:"); ok {
			for option := range strings.SplitSeq(options, ",") {
				if err := p.settings.set(option); err != nil {
					return err
				}
			}
		}
		directive, ok := strings.CutPrefix(c.Text, "//wire:")
		if !ok {
			continue
		}
		for word := range strings.SplitSeq(directive, ",") {
			switch field, text := strings.CutPrefix(word, "string="); {
			case text:
				s.text = field
			case word == "read":
				s.read = true
			case word == "write":
				s.write = true
			case word == "head":
				s.head = true
			case word == "members":
				s.members = true
			case word == "part":
				s.part = true
			default:
				return fmt.Errorf("unknown directive %q", word)
			}
		}
	}
	return nil
}

func (p *pkg) object(name string, of *ast.StructType, doc *ast.CommentGroup) error {
	s := &object{name: name}
	if err := p.directives(s, doc); err != nil {
		return err
	}
	tagged := false
	for _, f := range of.Fields.List {
		if len(f.Names) == 0 {
			s.embeds = append(s.embeds, spelled(f.Type))
			continue
		}
		var tag reflect.StructTag
		if f.Tag != nil {
			text, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				return err
			}
			tag = reflect.StructTag(text)
		}
		member, style, _ := strings.Cut(tag.Get("json"), ",")
		var options []string
		if tag.Get("wire") != "" {
			options = strings.Split(tag.Get("wire"), ",")
		}
		id := f.Names[0].Name
		switch {
		case style == "embed":
			s.extra, tagged = id, true
		case member == "" && slices.Contains(options, "span"):
			s.span, s.wholeRaw = id, slices.Contains(options, "raw")
		case member == "" && slices.Contains(options, "whole"):
			s.whole, s.wholeRaw = id, slices.Contains(options, "raw")
		case member != "" && style == "":
			tagged = true
			s.fields = append(s.fields, field{name: id, member: member, typ: f.Type, options: options})
		case tag.Get("json") != "":
			return fmt.Errorf("%s: unknown tag %q", id, tag)
		}
	}
	if len(s.fields) > 64 {
		return errors.New("more than 64 members")
	}
	if tagged {
		p.structs[name] = s
		p.order = append(p.order, s)
	}
	return nil
}

// spread hands on what a type is generated for to the types of its fields.
func (p *pkg) spread(s *object, read, write bool) {
	s.read, s.write = s.read || read, s.write || write
	if of := p.structs[s.embedded]; of != nil {
		of.members = of.members || write
		p.spread(of, read, write)
	}
	for _, f := range s.fields {
		for _, inner := range p.inside(f.typ, nil) {
			toRead, toWrite := read && !inner.read, write && !inner.write && !f.has("read") && f.by() == ""
			if toRead || toWrite {
				p.spread(inner, toRead, toWrite)
			}
		}
	}
}

// inside returns the structs that a type is made of, through lists, pointers and names.
func (p *pkg) inside(t ast.Expr, out []*object) []*object {
	switch t := t.(type) {
	case *ast.StarExpr:
		return p.inside(t.X, out)
	case *ast.ArrayType:
		return p.inside(t.Elt, out)
	case *ast.IndexExpr:
		return p.inside(t.Index, out)
	case *ast.StructType:
		for _, f := range t.Fields.List {
			out = p.inside(f.Type, out)
		}
	case *ast.Ident:
		if s := p.structs[t.Name]; s != nil {
			return append(out, s)
		}
		if named := p.types[t.Name]; named != nil {
			return p.inside(named, out)
		}
	}
	return out
}

// spelled returns a type as it is written.
func spelled(t ast.Expr) string { return types.ExprString(t) }
