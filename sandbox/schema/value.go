package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// kind is a set of JSON types; a value has exactly one. Numbers are two kinds, so that
// "integer" is a subset of "number": 1.0 is an integer, as JSON Schema has it.
type kind byte

const (
	kindNull kind = 1 << iota
	kindBoolean
	kindInteger
	kindFraction
	kindString
	kindArray
	kindObject
	kindNumber = kindInteger | kindFraction
	kindAny    = kindNull | kindBoolean | kindNumber | kindString | kindArray | kindObject
)

// value is a JSON value that keeps the order of members and the spelling of numbers.
type value struct {
	kind    kind
	text    string   // of a string; the literal of a number or boolean
	number  *big.Rat // of a number
	items   []*value
	members []member
}

type member struct {
	name  string
	value *value
}

func parse(data []byte) (*value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true))
	v, err := read(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON value")
	}
	return v, nil
}

func read(dec *jsontext.Decoder, depth int) (*value, error) {
	if depth > deepestSchema {
		return nil, fmt.Errorf("more than %d values are nested", deepestSchema)
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case 'n':
		return &value{kind: kindNull}, nil
	case 't', 'f':
		return boolValue(tok.Bool()), nil
	case '"':
		return textValue(tok.String()), nil
	case '0':
		return literalValue(tok.String())
	case '[':
		v := &value{kind: kindArray}
		for dec.PeekKind() != ']' {
			item, err := read(dec, depth+1)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, item)
		}
		_, err := dec.ReadToken()
		return v, err
	default:
		v := &value{kind: kindObject}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			text := name.String()
			item, err := read(dec, depth+1)
			if err != nil {
				return nil, err
			}
			v.members = append(v.members, member{text, item})
		}
		_, err := dec.ReadToken()
		return v, err
	}
}

func textValue(s string) *value { return &value{kind: kindString, text: s} }

func boolValue(b bool) *value {
	return &value{kind: kindBoolean, text: strconv.FormatBool(b)}
}

// numberValue spells r, which must be a finite decimal, exactly.
func numberValue(r *big.Rat) *value {
	v := &value{kind: kindFraction, number: r}
	if r.IsInt() {
		v.kind = kindInteger
	}
	digits, _ := r.FloatPrec()
	v.text = r.FloatString(digits)
	return v
}

func literalValue(literal string) (*value, error) {
	r, err := rational(literal)
	if err != nil {
		return nil, err
	}
	v := &value{kind: kindFraction, number: r, text: literal}
	if r.IsInt() {
		v.kind = kindInteger
	}
	return v, nil
}

// rational reads a JSON number whose size is bounded: a few bytes can spell a number
// of gigabytes.
func rational(literal string) (*big.Rat, error) {
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(literal[i+1:])
		if err != nil || max(exponent, -exponent) > longestNumber {
			return nil, fmt.Errorf("the number %.40s is out of range", literal)
		}
	}
	r, ok := new(big.Rat).SetString(literal)
	if !ok || len(literal) > longestNumber {
		return nil, fmt.Errorf("the number %.40s is out of range", literal)
	}
	return r, nil
}

func (v *value) get(name string) *value {
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// equal is the equality of JSON Schema: numbers by value, objects in any order.
func (v *value) equal(w *value) bool {
	if v.kind != w.kind || len(v.items) != len(w.items) || len(v.members) != len(w.members) {
		return false
	}
	if v.kind == kindInteger {
		return v.number.Num().Cmp(w.number.Num()) == 0
	}
	if v.number != nil {
		return v.number.Cmp(w.number) == 0
	}
	for i := range v.items {
		if !v.items[i].equal(w.items[i]) {
			return false
		}
	}
	for _, m := range v.members {
		if other := w.get(m.name); other == nil || !m.value.equal(other) {
			return false
		}
	}
	return v.text == w.text
}

// append writes v as compact JSON.
func (v *value) append(b []byte) []byte {
	switch v.kind {
	case kindNull:
		return append(b, "null"...)
	case kindString:
		return quote(b, v.text)
	case kindArray:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.append(b)
		}
		return append(b, ']')
	case kindObject:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(quote(b, m.name), ':')
			b = m.value.append(b)
		}
		return append(b, '}')
	default:
		return append(b, v.text...)
	}
}

func quote(b []byte, s string) []byte {
	// The error is for invalid UTF-8, which the decoder has replaced already.
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
