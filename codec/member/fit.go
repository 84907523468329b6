package member

import (
	"bytes"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Fit reads of a JSON value what fits into v, a pointer to a wire struct, and leaves the
// rest zero: a member of another type than its field, an element that is no object. Whole
// numbers may have a fraction of zero, and one that is too large for an int64 is the largest or smallest
// there is, so that a count of tokens beyond all numbers is not taken for none. Of a name that occurs twice the last value counts.
// It is for answers that pass by unchanged, which must not fail for what is only watched;
// all others are for Decode.
func Fit(value []byte, v any) { fit(value, reflect.ValueOf(v).Elem()) }

var fitOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

var valueType = reflect.TypeFor[jsontext.Value]()

// fit reports whether the value itself fits.
func fit(value jsontext.Value, v reflect.Value) bool {
	switch kind := value.Kind(); {
	case kind == 0 || kind == 'n':
		return false
	case v.Type() == valueType:
		v.SetBytes(bytes.Clone(value))
		return true
	case v.Kind() == reflect.Pointer:
		to := reflect.New(v.Type().Elem())
		ok := fit(value, to.Elem())
		if ok {
			v.Set(to)
		}
		return ok
	case v.Kind() == reflect.Struct && plainStruct(v.Type()):
		return kind == '{' && fitObject(value, v)
	case v.Kind() == reflect.Slice && plainStruct(v.Type().Elem()):
		return kind == '[' && fitList(value, v)
	}
	to := reflect.New(v.Type())
	if json.Unmarshal(value, to.Interface(), fitOptions) == nil {
		v.Set(to.Elem())
		return true
	}
	if !v.CanInt() {
		return false
	}
	f, err := strconv.ParseFloat(string(value), 64) // too large a number is an infinity
	if v.Kind() == reflect.Int64 && value.Kind() == '0' && math.Abs(f) > 1<<53 {
		v.SetInt(map[bool]int64{false: math.MaxInt64, true: math.MinInt64}[f < 0])
		return true
	}
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 || v.OverflowInt(int64(f)) {
		return false
	}
	v.SetInt(int64(f))
	return true
}

// plainStruct reports whether a type is a struct that tags say how to read.
func plainStruct(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		if f.Tag.Get("json") != "" {
			return true
		}
	}
	return false
}

func fitObject(object jsontext.Value, v reflect.Value) bool {
	var rest []byte
	err := Walk(object, func(name string, value jsontext.Value) bool {
		if i := fieldOf(v.Type(), name); i >= 0 {
			fit(value, v.Field(i))
		} else {
			rest = append(append(AppendQuote(append(rest, ','), name), ':'), value...)
		}
		return true
	}, fitOptions)
	if err != nil {
		return false
	}
	if i := restOf(v.Type()); i >= 0 && rest != nil {
		rest[0] = '{'
		v.Field(i).SetBytes(append(rest, '}'))
	}
	return true
}

func fitList(list jsontext.Value, v reflect.Value) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(list), fitOptions)
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	out := reflect.MakeSlice(v.Type(), 0, 1)
	for kind := d.PeekKind(); kind != ']' && kind != 0; kind = d.PeekKind() {
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		out = reflect.Append(out, reflect.Zero(v.Type().Elem()))
		fit(value, out.Index(out.Len()-1))
	}
	v.Set(out)
	return true
}

// fieldOf returns the index of the field of a name; -1 for none.
func fieldOf(t reflect.Type, name string) int {
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name && name != "" {
			return i
		}
	}
	return -1
}

// restOf returns the index of the field for members without one; -1 for none.
func restOf(t reflect.Type) int {
	for i := range t.NumField() {
		if f := t.Field(i); f.Type == valueType && strings.HasSuffix(f.Tag.Get("json"), ",embed") {
			return i
		}
	}
	return -1
}

// DecodeLoose is DecodeAnswer for a body that has members beside the answer: a usage, a
// time. One of these that its field cannot take whole is fitted, and fails nothing.
func DecodeLoose(body []byte, v any, loose ...string) error {
	err := DecodeAnswer(body, v)
	if err == nil {
		return nil
	}
	without := make([]Member, len(loose))
	for i, name := range loose {
		without[i].Name = name
	}
	rest, patched := Patch(body, without...)
	if patched != nil || len(rest) == len(body) {
		return err
	}
	to := reflect.ValueOf(v).Elem()
	to.SetZero()
	if DecodeAnswer(rest, v) != nil {
		return err
	}
	for _, name := range loose {
		if i := fieldOf(to.Type(), name); i >= 0 {
			fit(Value(body, name), to.Field(i))
		}
	}
	return nil
}
