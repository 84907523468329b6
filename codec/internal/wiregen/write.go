package main

import (
	"fmt"
	"go/ast"
)

// writer writes the methods that write an object.
func (e *emitter) writer(s *object) {
	e.printf("\nfunc (v *%s) write(w *member.Writer) {\n", s.name)
	raw := ""
	if s.span != "" {
		raw = "v." + s.span + ".raw"
	} else if s.whole != "" {
		raw = "v." + s.whole
	}
	if raw != "" {
		method := "CompactValue"
		if s.wholeRaw {
			method = "Value"
		}
		e.printf("if %s != nil {\nw.%s(%s)\nreturn\n}\n", raw, method, raw)
	}
	e.printf("w.Begin()\n")
	e.writeMembers(s)
	e.printf("w.End()\n}\n")
}

// membersWriter writes the method that writes the members of an object that another one begins.
func (e *emitter) membersWriter(s *object) {
	e.printf("\n// writeMembers writes the members into an object that is open.\nfunc (v *%s) writeMembers(w *member.Writer) {\n", s.name)
	e.writeMembers(s)
	e.printf("}\n")
}

func (e *emitter) writeMembers(s *object) {
	for _, f := range s.fields {
		switch {
		case f.has("read"):
		case f.by() != "":
			e.printf("v.%s(w, %q)\n", f.by(), f.member)
		default:
			e.member("v."+f.name, f, f.typ)
		}
	}
	if s.embedded != "" {
		e.printf("v.%s.writeMembers(w)\n", s.embedded)
	}
	if s.extra != "" {
		e.printf("w.Members(v.%s)\n", s.extra)
	}
}

// member writes the statements that write one member.
func (e *emitter) member(place string, f field, t ast.Expr) {
	always, null := f.has("always"), f.has("null")
	switch t := t.(type) {
	case *ast.Ident:
		e.named(place, f, t)
		return
	case *ast.SelectorExpr:
		if spelled(t) == "jsontext.Value" {
			e.rawMember(place, f)
			return
		}
	case *ast.StarExpr:
		e.pointer(place, f, t)
		return
	case *ast.ArrayType:
		e.list(place, f, t)
		return
	case *ast.MapType:
		e.printf("w.StringMapOpt(%q, %s)\n", f.member, place)
		return
	case *ast.IndexExpr:
		e.list(place, f, &ast.ArrayType{Elt: t.Index})
		return
	}
	_, _ = always, null
	e.fail("%s: no way to write %s", place, spelled(t))
}

func (e *emitter) rawMember(place string, f field) {
	method := "CompactOpt"
	if f.has("raw") {
		method = "RawOpt"
	}
	if f.has("null") {
		e.printf("if %s == nil {\nw.Null(%q)\n}\n", place, f.member)
	}
	e.printf("w.%s(%q, %s)\n", method, f.member, place)
}

func (e *emitter) named(place string, f field, t *ast.Ident) {
	always, null := f.has("always"), f.has("null")
	switch {
	case e.pkg.methods[t.Name+".writeOpt"]:
		method := "writeOpt"
		if null {
			method = "writeOrNull"
		}
		e.printf("%s.%s(w, %q)\n", place, method, f.member)
		return
	case e.pkg.structs[t.Name] != nil:
		if always {
			e.printf("w.Key(%q)\n%s.write(w)\n", f.member, place)
		} else {
			e.printf("if %s != (%s{}) {\nw.Key(%q)\n%s.write(w)\n}\n", place, t.Name, f.member, place)
		}
		return
	case e.pkg.types[t.Name] != nil && basics[t.Name] == "":
		switch under := e.pkg.types[t.Name].(type) {
		case *ast.Ident:
			if under.Name == "string" {
				e.member("string("+place+")", f, under)
			} else {
				e.member(place, f, under)
			}
		default:
			e.member(place, f, under)
		}
		return
	}
	switch t.Name {
	case "string":
		switch {
		case null:
			e.printf("w.StrNonempty(%q, %s)\n", f.member, place)
		case always:
			e.printf("w.Str(%q, %s)\n", f.member, place)
		default:
			e.printf("w.StrOpt(%q, %s)\n", f.member, place)
		}
	case "bool":
		e.unlessZero(always, place, fmt.Sprintf("w.Bool(%q, bool(%s))", f.member, place))
	case "int", "int32", "int64":
		e.unlessZero(always, place+" != 0", fmt.Sprintf("w.Int(%q, int64(%s))", f.member, place))
	case "float64":
		e.unlessZero(always, place+" != 0", fmt.Sprintf("w.Float(%q, %s)", f.member, place))
	default:
		e.fail("%s: no way to write %s", place, t.Name)
	}
}

func (e *emitter) unlessZero(always bool, condition, statement string) {
	if always {
		e.printf("%s\n", statement)
	} else {
		e.printf("if %s {\n%s\n}\n", condition, statement)
	}
}

func (e *emitter) pointer(place string, f field, t *ast.StarExpr) {
	switch of := t.X.(type) {
	case *ast.Ident:
		name := of.Name
		if under, ok := e.pkg.types[name].(*ast.Ident); ok && e.pkg.structs[name] == nil {
			name = under.Name
		}
		switch {
		case e.pkg.structs[name] != nil:
			e.printf("if %s != nil {\nw.Key(%q)\n%s.write(w)\n}", place, f.member, place)
			if f.has("null") {
				e.printf(" else {\nw.Null(%q)\n}", f.member)
			}
			e.printf("\n")
			return
		case name == "string" && f.has("null"):
			e.printf("w.StrOrNull(%q, %s)\n", f.member, place)
			return
		case name == "string":
			e.printf("w.StrPtr(%q, %s)\n", f.member, place)
			return
		case name == "bool":
			e.printf("w.BoolOpt(%q, %s)\n", f.member, place)
			return
		case name == "int32" || name == "int64":
			e.printf("member.IntOpt(w, %q, %s)\n", f.member, place)
			return
		case name == "float64":
			e.printf("w.FloatOpt(%q, %s)\n", f.member, place)
			return
		}
	case *ast.ArrayType:
		e.printf("if %s != nil {\n", place)
		inner := f
		inner.options = []string{"always"}
		e.list("*"+place, inner, of)
		e.printf("}\n")
		return
	}
	e.fail("%s: no way to write %s", place, spelled(t))
}

func (e *emitter) list(place string, f field, t *ast.ArrayType) {
	array := f.has("array")
	switch spelled(t.Elt) {
	case "string":
		if array {
			e.printf("w.StrsArray(%q, %s)\n", f.member, place)
			return
		}
		if f.has("always") || f.has("empty") {
			e.fail("%s: a list of strings is left out when it is empty", place)
		}
		e.printf("w.StrsOpt(%q, %s)\n", f.member, place)
		return
	case "int":
		e.printf("member.IntsOpt(w, %q, %s)\n", f.member, place)
		return
	}
	if array {
		e.printf("member.WriteArray(w, %q, %s, (*%s).write)\n", f.member, place, spelled(t.Elt))
		return
	}
	call := fmt.Sprintf("member.WriteList(w, %q, %s, (*%s).write)", f.member, place, spelled(t.Elt))
	switch {
	case f.has("always"):
		e.printf("%s\n", call)
	case f.has("empty"):
		e.printf("if %s != nil {\n%s\n}\n", place, call)
	default:
		e.printf("if len(%s) > 0 {\n%s\n}\n", place, call)
	}
}
