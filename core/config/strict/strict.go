// Package strict reads the YAML files that operators write, and reports where and how one
// is wrong: file:line:column, and for an unknown key the one that was probably meant.
// JSON is YAML too.
//
// The package must not know what is in the files, nor import anything of the core.
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// Error is what is wrong with a file, and where. Line is 0 where no place is known.
type Error struct {
	File         string
	Line, Column int
	Text         string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Parse reads a text of one document; file names it in errors, which are *Error values.
// The body of an empty one is nil. A text is refused whose values are nested more than 100 deep, or whose aliases repeat
// more than 4 MiB: little text could take all memory.
func Parse(file string, text []byte) (body ast.Node, err error) {
	if err := checkEncoding(file, text); err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(string(bytes.TrimPrefix(text, []byte("\ufeff")))) // the byte order mark that some editors write
	if err := checkDepth(file, tokens); err != nil {
		return nil, err
	}
	tree, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, positioned(file, err, nil)
	}
	if len(tree.Docs) > 1 {
		return nil, &Error{File: file, Text: "several documents in one file"}
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return nil, nil
	}
	if err := checkAliases(file, tree.Docs[0].Body); err != nil {
		return nil, err
	}
	return tree.Docs[0].Body, nil
}

// checkEncoding refuses what is not UTF-8, which the lexer would replace.
func checkEncoding(file string, text []byte) error {
	line := 0
	for each := range bytes.Lines(text) {
		line++
		if utf8.Valid(each) {
			continue
		}
		column := 1
		for len(each) > 0 {
			c, size := utf8.DecodeRune(each)
			if c == utf8.RuneError && size == 1 {
				break
			}
			each = each[size:]
			column++
		}
		return &Error{File: file, Line: line, Column: column, Text: "the file is not UTF-8"}
	}
	return nil
}

// Value reads a text of one document without a schema: mappings are yaml.MapSlice values, in the order of the text,
// and sequences []any. It is nil for an empty text. Errors are as in Parse, or say which value cannot be read.
func Value(file string, text []byte) (value any, err error) {
	body, err := Parse(file, text)
	if err != nil || body == nil {
		return nil, err
	}
	if err := yaml.NodeToValue(body, &value, yaml.UseOrderedMap()); err != nil {
		return nil, positioned(file, err, nil)
	}
	return value, nil
}

// Decode fills into, a pointer to a struct with yaml tags. A key it has no field for is
// an error, as is a value of another type.
func Decode(file string, body ast.Node, into any) error {
	if err := decode(body, into); err != nil {
		return positioned(file, err.error, err.schema)
	}
	return nil
}

// decodeError is an error of the decoder's, and the schema that its unknown key is none of.
type decodeError struct {
	error
	schema reflect.Type
}

func decode(body ast.Node, into any) *decodeError {
	if err := checkNulls(body); err != nil {
		return &decodeError{err, nil}
	}
	if err := yaml.NodeToValue(body, into, yaml.Strict()); err != nil {
		return &decodeError{err, reflect.TypeOf(into)}
	}
	if err := checkWhole(body, reflect.TypeOf(into)); err != nil {
		return &decodeError{err, nil}
	}
	return nil
}

// positioned returns a parser's or decoder's error with its place, and for an unknown key the one
// of the schema that was probably meant.
func positioned(file string, err error, schema reflect.Type) error {
	e := &Error{File: file, Text: err.Error()}
	if syntax, ok := errors.AsType[yaml.Error](err); ok {
		e.Text = syntax.GetMessage()
		if t := syntax.GetToken(); t != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	if m := wrongType().FindStringSubmatch(e.Text); m != nil {
		e.Text = fmt.Sprintf("expected %s, got %s", typeName(m[2]), typeName(m[1]))
	}
	if m := tooLarge().FindStringSubmatch(e.Text); m != nil {
		e.Text = m[1] + " is too large a number"
	}
	if m := unknownKey().FindStringSubmatch(e.Text); m != nil {
		e.Text = fmt.Sprintf("unknown key %q", m[1])
		if schema != nil {
			keys := keysOf(schema, map[reflect.Type]bool{})
			if slices.Contains(keys, m[1]) {
				e.Text += "; it is a key of other mappings"
			} else {
				e.Text += Meant(m[1], keys)
			}
		}
	}
	return e
}

var (
	unknownKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`unknown field "([^"]+)"`) })
	tooLarge   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`cannot unmarshal (\S+) into Go value of type \S+ \( overflow \)`)
	})
	wrongType = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`cannot unmarshal (.+) into Go .* of type (\S+)$`) })
)

// typeName is what an operator calls a type of Go's.
func typeName(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasPrefix(goType, "map["), strings.Contains(goType, "."):
		return "a mapping"
	}
	return goType
}

// Meant asks whether the known word that is spelled most like the given one was meant:
// `; did you mean "model"?`. It is empty when none is close.
func Meant(word string, known []string) string {
	best, distance := "", len(word)/2+1
	for _, k := range known {
		if d := levenshtein.ComputeDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

func keysOf(t reflect.Type, seen map[reflect.Type]bool) []string {
	for t.Kind() == reflect.Map || t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	var keys []string
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name != "" {
			keys = append(keys, name)
		}
		keys = append(keys, keysOf(field.Type, seen)...)
	}
	return keys
}
