package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"strings"
)

// emitter writes code.
type emitter struct {
	pkg *pkg
	out bytes.Buffer
	err error
	// library says that the code names the JSON library.
	library bool
}

func (e *emitter) printf(format string, args ...any) { fmt.Fprintf(&e.out, format, args...) }

func (e *emitter) fail(format string, args ...any) string {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
	return ""
}

// reader writes the methods that read an object.
func (e *emitter) reader(s *object) {
	e.printf("\n// ReadJSON implements member.ValueReader.\nfunc (v *%s) ReadJSON(r *member.Reader) bool {\n", s.name)
	if s.text != "" {
		e.printf("if r.Kind() == '\"' {\nreturn r.Text(&v.%s)\n}\n", s.text)
	}
	done := "r.Close(&o)"
	if s.span != "" {
		e.printf("v.%s.start = r.Before()\n", s.span)
		e.printf("if r.Null() {\nv.%s.end = r.Offset()\nreturn true\n}\n", s.span)
	} else {
		e.printf("if r.Null() {\nreturn true\n}\n")
	}
	e.printf("var o member.Object\nfor r.Open(&o); o.More; r.Next(&o) {\nif !v.readMember(r, &o) {\nreturn false\n}\n}\n")
	if s.span != "" {
		e.printf("v.%s.end = r.Offset()\n", s.span)
	}
	e.printf("return %s\n}\n", done)

	e.printf("\nfunc (v *%s) readMember(r *member.Reader, o *member.Object) bool {\n", s.name)
	if len(s.fields) > 0 {
		e.printf("switch string(o.Name) {\n")
		first := 0
		if of := e.pkg.structs[s.embedded]; of != nil {
			first = len(of.fields)
		}
		for i, f := range s.fields {
			e.printf("case %q:\nreturn o.Once(%d) && %s\n", f.member, first+i, e.field(f))
		}
		e.printf("}\n")
	}
	switch {
	case s.embedded != "":
		e.printf("return v.%s.readMember(r, o)\n}\n", s.embedded)
	case s.extra != "":
		e.printf("return r.Other(o, &v.%s)\n}\n", s.extra)
	default:
		e.printf("return r.Skip(o)\n}\n")
	}
	e.fallback(s)
	if s.head {
		e.heads(s)
	}
}

// fallback writes the method by which the JSON library reads what is no plain struct.
func (e *emitter) fallback(s *object) {
	if s.text == "" && s.span == "" {
		return
	}
	e.library = true
	e.printf("\n// UnmarshalJSONFrom implements json.UnmarshalerFrom.\nfunc (v *%s) UnmarshalJSONFrom(d *jsontext.Decoder) error {\n", s.name)
	if s.text != "" {
		e.printf("if d.PeekKind() == '\"' {\nreturn json.UnmarshalDecode(d, &v.%s)\n}\n", s.text)
	}
	e.printf("type plain %s\n", s.name)
	if s.span != "" {
		e.printf("start := d.InputOffset()\nerr := json.UnmarshalDecode(d, (*plain)(v))\nv.%s.start, v.%s.end = start, d.InputOffset()\nreturn err\n}\n", s.span, s.span)
	} else {
		e.printf("return json.UnmarshalDecode(d, (*plain)(v))\n}\n")
	}
}

// heads writes the method that reads a body without its heavy members.
func (e *emitter) heads(s *object) {
	e.printf("\nvar heavyOf%s = []string{", strings.ToUpper(s.name[:1])+s.name[1:])
	for _, option := range []string{"main", "heavy"} {
		for _, f := range s.fields {
			if f.has(option) {
				e.printf("%q,", f.member)
			}
		}
	}
	e.printf("}\n")
	e.printf(headMethod, s.name, strings.ToUpper(s.name[:1])+s.name[1:])
}

const headMethod = `
// readHead reads the light members of a body, and returns the body that offsets refer to.
func (v *%[1]s) readHead(x *member.TopIndex) ([]byte, bool) {
	h, r := x.Light(heavyOf%[2]s)
	var o member.Object
	for h.Next(r, &o) && v.readMember(r, &o) {
	}
	body, again, ok := h.Done(r, &o)
	if again {
		var read %[1]s
		ok = member.DecodeLight(body, &read)
		*v = read
	}
	return body, ok
}
`

// basics are the methods of member.Reader for types of the language.
var basics = map[string]string{
	"string": "Str", "bool": "Bool", "int": "Int", "int32": "Int32", "int64": "Int64", "uint8": "Uint8", "float64": "Float",
}

// field returns the expression that reads a field.
func (e *emitter) field(f field) string {
	if f.has("borrow") {
		return fmt.Sprintf("r.Borrow(&v.%s)", f.name)
	}
	return e.value("&v."+f.name, f.typ)
}

// value returns the expression that reads a value of a type; at is the expression of where.
func (e *emitter) value(at string, t ast.Expr) string {
	place := strings.TrimPrefix(at, "&")
	switch t := t.(type) {
	case *ast.Ident:
		if method := basics[t.Name]; method != "" {
			return fmt.Sprintf("r.%s(%s)", method, at)
		}
		named := e.pkg.types[t.Name]
		switch {
		case e.pkg.structs[t.Name] != nil && e.pkg.structs[t.Name].read, e.pkg.methods[t.Name+".ReadJSON"]:
			return place + ".ReadJSON(r)"
		case named != nil:
			return e.value(fmt.Sprintf("(*%s)(%s)", spelled(named), at), named)
		}
	case *ast.SelectorExpr:
		if spelled(t) == "jsontext.Value" {
			return fmt.Sprintf("r.Keep(%s)", at)
		}
	case *ast.StarExpr:
		return fmt.Sprintf("(r.Null() || %s)", e.value("member.New(r, "+at+")", t.X))
	case *ast.ArrayType:
		switch elem := spelled(t.Elt); elem {
		case "jsontext.Value":
			return fmt.Sprintf("r.Raws(%s)", at)
		case "string":
			return fmt.Sprintf("r.Strings(%s)", at)
		default:
			return fmt.Sprintf("member.ReadList(r, %s, %s)", at, e.element(t.Elt))
		}
	case *ast.MapType:
		if spelled(t) == "map[string]string" {
			return fmt.Sprintf("r.StringMap(%s)", at)
		}
	case *ast.IndexExpr:
		return fmt.Sprintf("%s.readList(r, %s)", place, e.element(t.Index))
	}
	return e.fail("%s: no way to read %s", place, spelled(t))
}

// element returns the function that reads an element of a list.
func (e *emitter) element(t ast.Expr) string {
	name := spelled(t)
	switch {
	case name == "string":
		return "member.ReadString"
	case e.pkg.structs[name] != nil, e.pkg.methods[name+".ReadJSON"]:
		return fmt.Sprintf("(*%s).ReadJSON", name)
	}
	return fmt.Sprintf("func(v *%s, r *member.Reader) bool { return %s }", name, e.value("v", t))
}
