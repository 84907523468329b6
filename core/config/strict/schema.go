package strict

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// document is a text and its schema: a type with yaml tags.
type document struct {
	body   ast.Node
	schema reflect.Type
}

// member is a value of a document, and what the schema says about it.
type member struct {
	path        string       // as in routes[0].model; empty for the whole document
	description string       // what its field of the schema is described as
	schema      reflect.Type // nil where the schema lacks it
	of          reflect.Type // the schema of the mapping that it is in
	key         bool         // found by its key
	remove      func()       // takes it out of its mapping or list; nil for the whole document
}

// find returns the value, or the key, of a token; nil where there is none.
func (d *document) find(at *token.Token) *member {
	if d == nil || d.body == nil {
		return nil
	}
	s := search{at: place(at)}
	s.value(d.body, member{schema: d.schema})
	return s.found
}

type search struct {
	at    token.Position
	found *member
}

func (s *search) value(node ast.Node, m member) {
	for m.schema != nil && m.schema.Kind() == reflect.Pointer {
		m.schema = m.schema.Elem()
	}
	if node == nil || s.found != nil {
		return
	}
	m.path = strings.TrimPrefix(strings.TrimPrefix(node.GetPath(), "$"), ".")
	switch n := node.(type) {
	case *ast.MappingNode:
		for i, v := range n.Values {
			s.member(v, m.schema, func() { n.Values = slices.Delete(n.Values, i, i+1) })
		}
	case *ast.SequenceNode:
		element := member{description: m.description}
		if m.schema != nil && m.schema.Kind() == reflect.Slice {
			element.schema = m.schema.Elem()
		}
		for i, v := range n.Values {
			element.remove = func() { n.Values = slices.Delete(n.Values, i, i+1) }
			s.value(v, element)
		}
	case *ast.AnchorNode:
		s.value(n.Value, m)
	case *ast.TagNode:
		s.value(n.Value, m)
	}
	if s.found == nil && place(node.GetToken()) == s.at {
		s.found = &m
	}
}

func (s *search) member(n *ast.MappingValueNode, of reflect.Type, remove func()) {
	m := field(of, n.Key.GetToken().Value)
	m.of, m.remove = of, remove
	if s.found == nil && place(n.Key.GetToken()) == s.at {
		m.path = strings.TrimPrefix(strings.TrimPrefix(n.Value.GetPath(), "$"), ".")
		m.key, s.found = true, &m
		return
	}
	s.value(n.Value, m)
}

// field returns what a schema says about a key.
func field(schema reflect.Type, key string) member {
	switch {
	case schema == nil:
	case schema.Kind() == reflect.Map:
		return member{schema: schema.Elem()}
	case schema.Kind() == reflect.Struct:
		for _, f := range reflect.VisibleFields(schema) {
			if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name == key {
				return member{schema: f.Type, description: f.Tag.Get("jsonschema_description")}
			}
		}
	}
	return member{}
}

// name is the value's path for an error.
func (m *member) name() string { return cmp.Or(m.path, "the file") }

// prefix begins an error about a value that does not say which it is.
func (m *member) prefix() string {
	if m == nil || m.key || m.path == "" {
		return ""
	}
	return m.path + ": "
}

// within says which mapping a key is in; nothing for the whole document.
func (m *member) within() string {
	at := strings.LastIndexByte(m.path, '.')
	if at < 0 {
		return ""
	}
	return " in " + m.path[:at]
}

// expected says what the value must be: "a whole number, as in 10 (requests a minute)".
func (m *member) expected() string {
	t := m.schema
	text := typeName(t.Kind().String())
	switch t.Kind() {
	case reflect.Slice:
		text = "a list, as in " + example(t)
	case reflect.Struct, reflect.Map:
		text = "a mapping, as in " + example(t)
	case reflect.Int, reflect.Int64:
		text += ", as in 10"
	case reflect.Float64:
		text += ", as in 0.5"
	}
	if what, _, _ := strings.Cut(m.description, ";"); m.description != "" && t.Kind() != reflect.Slice && t.Kind() != reflect.Struct {
		what, _, _ = strings.Cut(what, ". ")
		text += " (" + strings.ToLower(what[:1]) + strings.TrimSuffix(what[1:], ".") + ")"
	}
	return text
}

// example writes a value of a schema with the keys that it must have.
func example(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice:
		return "[" + example(t.Elem()) + "]"
	case reflect.Map:
		return "{NAME: " + example(t.Elem()) + "}"
	case reflect.Struct:
		var required, first []string
		for _, f := range reflect.VisibleFields(t) {
			name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name == "" || name == "-" {
				continue
			}
			text := name + ": " + example(f.Type)
			if rest == "" {
				required = append(required, text)
			}
			if first == nil {
				first = []string{text}
			}
		}
		if required == nil {
			required = first
		}
		return "{" + strings.Join(required, ", ") + "}"
	case reflect.Int, reflect.Int64:
		return "10"
	case reflect.Float64:
		return "0.5"
	case reflect.Bool:
		return "true"
	}
	return "…"
}

// meant says what to write in place of an unknown key.
func (d *document) meant(key string, within reflect.Type, advise func(within reflect.Type, key string) string) string {
	if advise != nil {
		if text := advise(within, key); text != "" {
			return "; " + text
		}
	}
	keys := map[string][]string{}
	places(d.schema, "", keys, nil)
	if at := keys[key]; at != nil {
		return "; it belongs in " + strings.Join(at, ", ")
	}
	known := make([]string, 0, len(keys))
	for k := range keys {
		known = append(known, k)
	}
	slices.Sort(known)
	return Meant(key, known)
}

// places collects the mappings of a schema in which each key may be, as in routes[].targets[].
func places(t reflect.Type, path string, into map[string][]string, parents []reflect.Type) {
	for {
		switch {
		case t.Kind() == reflect.Slice:
			path += "[]"
		case t.Kind() == reflect.Map:
			path = strings.TrimPrefix(path+".NAME", ".")
		case t.Kind() != reflect.Pointer:
			if t.Kind() != reflect.Struct || slices.Contains(parents, t) {
				return
			}
			for f := range t.Fields() {
				name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
				if name == "-" {
					continue
				}
				if name == "" && strings.Contains(rest, "inline") {
					places(f.Type, path, into, parents)
				}
				if name == "" {
					continue
				}
				if here := cmp.Or(path, "the file itself"); !slices.Contains(into[name], here) {
					into[name] = append(into[name], here)
				}
				places(f.Type, strings.TrimPrefix(path+"."+name, "."), into, append(parents, t))
			}
			return
		}
		t = t.Elem()
	}
}

// inOurWords returns what a message of the parser's asks for.
func inOurWords(message string) string {
	for _, m := range []struct{ theirs, ours string }{
		{"mapping value is not allowed in this context", "a key and its value are not allowed here: quote a text that contains a colon, or correct the indentation"},
		{"block sequence entries are not allowed in this context", "a list is not allowed here: write its first - on the next line"},
		{"value is not allowed in this context", "a value is not allowed here: correct the indentation, or quote the text"},
		{"end character of double-quoted text", `the closing " is missing`},
		{"end character of single-quoted text", "the closing ' is missing"},
		{"',' or ']' must be specified", "a comma or the closing ] is missing"},
		{"sequence end token ']' not found", "the closing ] is missing"},
		{"'[' character corresponding to ']'", "] closes nothing"},
		{"',' or '}' must be specified", "a comma or the closing } is missing"},
		{"flow mapping end token '}'", "the closing } is missing"},
		{"flow map content", "the closing } is missing"},
		{"'{' character corresponding to '}'", "} closes nothing"},
		{"non-map value is specified", "expected KEY: VALUE"},
		{"unexpected key name", "the colon after a key is missing: write KEY: VALUE"},
		{"value for mapping key", "the colon after a key is missing: write KEY: VALUE"},
		{"tab character", "a tab is not allowed here: indent with spaces"},
		{"'\t'", "a tab is not allowed here: indent with spaces"},
		{"undefined anchor", "there is no anchor of this name: write &NAME before a value and *NAME to repeat it"},
		{"could not find alias", "there is no anchor of this name: write &NAME before a value and *NAME to repeat it"},
	} {
		if strings.Contains(message, m.theirs) {
			return m.ours
		}
	}
	var key string
	var line, column int
	if n, _ := fmt.Sscanf(message, "mapping key %q already defined at [%d:%d]", &key, &line, &column); n == 3 {
		return fmt.Sprintf("%s is a second time here; the first is on line %d", key, line)
	}
	return message
}
