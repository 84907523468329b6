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
		return nil, positioned(file, err, nil, nil)
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
		return nil, positioned(file, err, nil, nil)
	}
	return value, nil
}

// Decode fills into, a pointer to a struct with yaml tags. A key it has no field for is
// an error, as is a value of another type.
func Decode(file string, body ast.Node, into any) error {
	if err := decode(body, into); err != nil {
		return positioned(file, err, &document{body: body, schema: reflect.TypeOf(into)}, nil)
	}
	return nil
}

func decode(body ast.Node, into any) error {
	if err := checkNulls(body); err != nil {
		return err
	}
	if err := yaml.NodeToValue(body, into, yaml.Strict()); err != nil {
		return err //nolint:wrapcheck // positioned takes it apart
	}
	return checkWhole(body, reflect.TypeOf(into))
}

// positioned returns a parser's or decoder's error with its place, in words of the schema: for an unknown key what advise
// says or the key that was probably meant, for a value of another type what is expected.
func positioned(file string, err error, doc *document, advise func(within reflect.Type, key string) string) error {
	e := &Error{File: file, Text: err.Error()}
	syntax, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return e
	}
	e.Text = syntax.GetMessage()
	t := syntax.GetToken()
	if t == nil {
		return e
	}
	e.Line, e.Column = t.Position.Line, t.Position.Column
	at := doc.find(t)
	if m := unknownKey().FindStringSubmatch(e.Text); m != nil {
		e.Text = fmt.Sprintf("unknown key %q", m[1])
		if at != nil {
			e.Text += at.within() + doc.meant(m[1], at.of, advise)
		}
		return e
	}
	m := wrongType().FindStringSubmatch(e.Text)
	if m == nil {
		m = wrongNode().FindStringSubmatch(e.Text)
	}
	switch {
	case tooLarge().MatchString(e.Text):
		e.Text = at.prefix() + t.Value + " is too large a number"
	case m == nil:
		e.Text = at.prefix() + inOurWords(e.Text)
	case at == nil || at.schema == nil:
		e.Text = fmt.Sprintf("%sexpected %s, got %s", at.prefix(), typeName(m[2]), typeName(m[1]))
	default:
		e.Text = fmt.Sprintf("%s: expected %s, got %s", at.name(), at.expected(), typeName(m[1]))
	}
	return e
}

var (
	unknownKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`unknown field "([^"]+)"`) })
	tooLarge   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`cannot unmarshal (\S+) into Go value of type \S+ \( overflow \)`)
	})
	wrongType = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`cannot unmarshal (.+) into Go .* of type (\S+)$`) })
	wrongNode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\S+) was used where (\S+) is expected`) })
)

// typeName is what an operator calls a type of Go's or of YAML's.
func typeName(name string) string {
	switch {
	case strings.HasPrefix(name, "[]"), name == "sequence":
		return "a list"
	case strings.HasPrefix(name, "map["), strings.Contains(name, "."), name == "mapping":
		return "a mapping"
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"):
		return "a whole number"
	case strings.HasPrefix(name, "float"):
		return "a number"
	case name == "string":
		return "text"
	case name == "bool":
		return "true or false"
	}
	return name
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
