package generatecontent

import (
	"bytes"
	"encoding/base64"
	"math"
	"reflect"
	"strconv"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// list is a repeated member. The vendor's JSON mapping takes one element in place
// of a list, and its documentation uses that ("parts": {"text": "..."}).
type list[T any] []T

func (l *list[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if kind := d.PeekKind(); kind != '{' && kind != '"' {
		return json.UnmarshalDecode(d, (*[]T)(l))
	}
	var one T
	if err := json.UnmarshalDecode(d, &one); err != nil {
		return err
	}
	*l = list[T]{one}
	return nil
}

// readList is UnmarshalJSONFrom for member.Reader.
func (l *list[T]) readList(r *member.Reader, read func(*T, *member.Reader) bool) bool {
	if kind := r.Kind(); kind != '{' && kind != '"' {
		return member.ReadList(r, (*[]T)(l), read)
	}
	*l = make(list[T], 1)
	return read(&(*l)[0], r)
}

// integer is a whole number, which the vendor's JSON mapping also takes as a
// string and with a fraction of zero.
type integer int64

func (n *integer) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if !n.take(value) {
		return &json.SemanticError{JSONKind: value.Kind(), JSONValue: value.Clone(), GoType: reflect.TypeFor[integer]()}
	}
	return nil
}

// ReadJSON implements member.ValueReader.
func (n *integer) ReadJSON(r *member.Reader) bool {
	v, ok := r.Value()
	return ok && n.take(v)
}

func (n *integer) take(value []byte) bool {
	text := bytes.Trim(value, `"`)
	if i, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*n = integer(i)
		return true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	*n = integer(f)
	return err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53
}

// int64Of returns the number as the contract has it.
func int64Of(n *integer) *int64 {
	if n == nil {
		return nil
	}
	i := int64(*n)
	return &i
}

// int32Of is int64Of for members of 32 bits; at is the path of the member's object.
func int32Of(n *integer, at, name string) (*int32, error) {
	if n == nil {
		return nil, nil
	}
	if int64(*n) != int64(int32(*n)) {
		param := member.Join(at, name)
		return nil, fault.Invalid(param, "%s is out of range", param)
	}
	i := int32(*n)
	return &i, nil
}

func integerOf[T int32 | int64](n *T) *integer {
	if n == nil {
		return nil
	}
	i := integer(*n)
	return &i
}

// base64Bytes are bytes as base64 text in either alphabet: the vendor takes both,
// and its Python SDK sends the URL-safe one. nil is an absent member.
type base64Bytes []byte

func (b *base64Bytes) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() == 'n' {
		return nil
	}
	if value.Kind() != '"' {
		return &json.SemanticError{JSONKind: value.Kind(), GoType: reflect.TypeFor[string]()}
	}
	return b.take(value)
}

// ReadJSON implements member.ValueReader.
func (b *base64Bytes) ReadJSON(r *member.Reader) bool {
	if r.Kind() != '"' {
		return r.Null()
	}
	v, ok := r.Value()
	return ok && b.take(jsontext.Value(v)) == nil
}

// writeOpt writes no bytes, too.
func (b *base64Bytes) writeOpt(w *member.Writer, name string) { w.Base64(name, *b) }

// take reads a string.
func (b *base64Bytes) take(value jsontext.Value) error {
	raw := []byte(value[1 : len(value)-1])
	data := make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	if n, err := base64.StdEncoding.Decode(data, raw); err == nil {
		*b = data[:n]
		return nil
	}
	if raw, err := jsontext.AppendUnquote(nil, value); err == nil {
		if data, err := member.DecodeBase64(string(raw)); err == nil {
			*b = append(base64Bytes{}, data...)
			return nil
		}
	}
	return fault.Invalid("", "not valid base64")
}

// present reports whether a raw member was given a value.
func present(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }
