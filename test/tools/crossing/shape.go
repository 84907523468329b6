package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
)

// misfit is where a JSON value departs from a Go type of an SDK.
type misfit struct {
	path, what string
	// tag says that the value does not even claim to be of the type: a constant,
	// such as the type member of a variant, differs or is missing.
	tag bool
}

func (m misfit) String() string { return m.path + ": " + m.what }

// fit compares a JSON value, decoded with numbers as they are, with a type: each
// member must be one of the type's, and each that the type requires must be there.
// An answer may have members that the type does not know: clients ignore them.
func fit(t reflect.Type, v any, path string, answer bool) []misfit {
	f := fitter{answer}
	return f.value(t, v, path)
}

type fitter struct{ answer bool }

func (f fitter) value(t reflect.Type, v any, path string) []misfit {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value, ok := constantOf(t); ok {
		if v != value {
			return []misfit{{path, fmt.Sprintf("is not %q", value), true}}
		}
		return nil
	}
	// Null is absent in an answer, and what a request's types can be set to.
	if v == nil {
		if f.answer || t.Kind() == reflect.Struct || t.Kind() == reflect.Interface {
			return nil
		}
		return []misfit{{path, "is null", false}}
	}
	if t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Interface {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return f.structure(t, v, path)
	case reflect.Slice:
		return f.list(t, v, path)
	case reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			return []misfit{{path, "is no object", true}}
		}
		var all []misfit
		for _, name := range slices.Sorted(maps.Keys(m)) {
			all = append(all, f.value(t.Elem(), m[name], path+"{}")...)
		}
		return all
	case reflect.String:
		if _, ok := v.(string); !ok {
			return []misfit{{path, "is no string", true}}
		}
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			return []misfit{{path, "is no boolean", true}}
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, ok := v.(json.Number)
		if _, err := n.Int64(); !ok || err != nil {
			return []misfit{{path, "is no integer", true}}
		}
	case reflect.Float32, reflect.Float64:
		if _, ok := v.(json.Number); !ok {
			return []misfit{{path, "is no number", true}}
		}
	default:
		return []misfit{{path, "is of an unforeseen type " + t.String(), false}}
	}
	return nil
}

// constantOf returns the value of a type that has a single one: the SDKs' constants
// are strings with a method Default of their own type.
func constantOf(t reflect.Type) (string, bool) {
	method, ok := t.MethodByName("Default")
	if !ok || t.Kind() != reflect.String {
		return "", false
	}
	return method.Func.Call([]reflect.Value{reflect.Zero(t)})[0].String(), true
}

func (f fitter) list(t reflect.Type, v any, path string) []misfit {
	if t.Elem().Kind() == reflect.Uint8 {
		s, ok := v.(string)
		if !ok {
			return []misfit{{path, "is no string", true}}
		}
		if _, err := base64.StdEncoding.DecodeString(s); err != nil {
			return []misfit{{path, "is no base64", false}}
		}
		return nil
	}
	list, ok := v.([]any)
	if !ok && coerced(t.Elem()) {
		return f.value(reflect.TypeFor[string](), v, path)
	}
	if !ok {
		return []misfit{{path, "is no array", true}}
	}
	var all []misfit
	for _, e := range list {
		all = append(all, f.value(t.Elem(), e, path+"[]")...)
	}
	return all
}

// coerced reports whether the SDK reads a string as a list of one text block, as
// Anthropic's does for the content blocks of requests.
func coerced(t reflect.Type) bool {
	if t == reflect.TypeFor[anthropic.TextBlockParam]() {
		return true
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	text, ok := t.FieldByName("OfText")
	return ok && text.Type == reflect.TypeFor[*anthropic.TextBlockParam]()
}

func (f fitter) structure(t reflect.Type, v any, path string) []misfit {
	switch {
	case strings.HasPrefix(t.Name(), "Opt["):
		value, _ := t.FieldByName("Value")
		return f.value(value.Type, v, path)
	case t.PkgPath() == "time":
		return f.value(reflect.TypeFor[string](), v, path)
	}
	if variants := variantsOf(t); len(variants) > 0 {
		return f.union(variants, v, path)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return []misfit{{path, "is no object", true}}
	}
	var all []misfit
	members := membersOf(t)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		field := members[name]
		constant, single := constantOf(field.Type)
		if value, tagged := field.Tag.Lookup("const"); tagged {
			constant, single = value, true
		}
		switch value, has := m[name]; {
		case !has && isRequired(t, field):
			all = append(all, misfit{path + "." + name, "is missing", single})
		case has && single && value != constant:
			all = append(all, misfit{path + "." + name, fmt.Sprintf("is not %q", constant), true})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		field, known := members[name]
		switch {
		case known:
			all = append(all, f.value(field.Type, m[name], path+"."+name)...)
		case !f.answer && !open(t):
			all = append(all, misfit{path + "." + name, "is unknown", false})
		}
	}
	return all
}

// isRequired reports whether a member is in each value of a type: as the tag api says or, of the types of Interactions, the
// lack of omitzero.
func isRequired(t reflect.Type, field reflect.StructField) bool {
	_, single := constantOf(field.Type)
	_, tagged := field.Tag.Lookup("const")
	return single || tagged || strings.Contains(field.Tag.Get("api"), "required") ||
		strings.Contains(t.PkgPath(), "genai/interactions") && !strings.Contains(field.Tag.Get("json"), "omitzero")
}

// union returns the misfits of the variant that fits best: first of all one that the
// value claims to be.
func (f fitter) union(variants []reflect.Type, v any, path string) []misfit {
	var best []misfit
	least := -1
	for _, variant := range variants {
		found := f.value(variant, v, path)
		weight := len(found)
		for _, m := range found {
			if m.tag && strings.Count(m.path, ".") <= strings.Count(path, ".")+1 {
				weight += 1000
			}
		}
		if least < 0 || weight < least {
			best, least = found, weight
		}
	}
	return best
}

// variantsOf returns the types that a union stands for. Those of requests have a
// field for each, those of answers a method.
func variantsOf(t reflect.Type) []reflect.Type {
	var all []reflect.Type
	for field := range t.Fields() {
		if strings.HasPrefix(field.Name, "Of") && strings.HasPrefix(field.Tag.Get("json"), ",") || field.Tag.Get("union") == "member" {
			all = append(all, field.Type)
		}
	}
	if _, answer := t.FieldByName("JSON"); !answer || len(all) > 0 && !strings.HasSuffix(t.Name(), "Union") {
		return all
	}
	all = nil
	for method := range t.Methods() {
		if name, ok := strings.CutPrefix(method.Name, "As"); ok && name != "Any" && method.Type.NumIn() == 1 && method.Type.NumOut() == 1 {
			all = append(all, method.Type.Out(0))
		}
	}
	return all
}

// membersOf returns the fields of a struct by the names of their members, those of
// embedded ones included.
func membersOf(t reflect.Type) map[string]reflect.StructField {
	members := map[string]reflect.StructField{}
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported() && name == "":
		case name != "":
			members[name] = field
		case field.Anonymous || strings.Contains(options, "inline"):
			if field.Type.Kind() == reflect.Struct {
				maps.Copy(members, membersOf(field.Type))
			}
		}
	}
	return members
}

// open reports whether a type takes members of any name, as one without members does: Google's FunctionResultStepResult is
// any object.
func open(t reflect.Type) bool {
	if t.NumField() == 0 {
		return true
	}
	field, ok := t.FieldByName("ExtraFields")
	return ok && field.Type.Kind() == reflect.Map
}
