package member

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// What others have written goes in as it is (Raw), or is checked on its way (Compact,
// Members): what a caller could say in it stands in a body of the gateway's.

// Raw writes a value of which the caller knows that it is JSON, as it is.
func (w *Writer) Raw(name string, json []byte) {
	w.Key(name)
	w.Value(json)
}

// RawOpt leaves out what is not there.
func (w *Writer) RawOpt(name string, json []byte) {
	if json != nil {
		w.Raw(name, json)
	}
}

// RawText is Raw for a string.
func (w *Writer) RawText(name, json string) {
	w.Key(name)
	w.buf = append(w.buf, json...)
}

// Value is Raw for an element, or behind Key.
func (w *Writer) Value(json []byte) {
	if w.strict && !Valid(json) {
		w.comma()
		w.buf = append(w.buf, "null"...)
		w.Fail(within(w.place(), errNotJSON))
		return
	}
	w.Piece(json)
}

// Piece is Value for a part of one that the caller has checked.
func (w *Writer) Piece(json []byte) {
	w.unchecked = true
	w.comma()
	w.buf = append(w.buf, json...)
}

var errNotJSON = errors.New("a value that is no JSON")

// ValueText is Value for a string.
func (w *Writer) ValueText(json string) {
	w.comma()
	w.buf = append(w.buf, json...)
}

// Put appends a piece of the text that the caller has put together, commas and all.
func (w *Writer) Put(piece string) { w.buf = append(w.buf, piece...) }

// Spliced writes the members of an object of which the caller knows that it is one and
// that none of them is there already.
func (w *Writer) Spliced(object []byte) {
	if len(object) > len("{}") {
		w.Piece(object[1 : len(object)-1])
	}
}

// Compact writes a value without its white space. One that is no JSON, or has an object
// with a name twice, is a failure.
func (w *Writer) Compact(name string, json []byte) {
	w.Key(name)
	w.CompactValue(json)
}

// CompactOpt leaves out what is not there.
func (w *Writer) CompactOpt(name string, json []byte) {
	if json != nil {
		w.Compact(name, json)
	}
}

// CompactValue is Compact for an element, or behind Key.
func (w *Writer) CompactValue(json []byte) {
	w.comma()
	out, err := AppendCompact(w.buf, json)
	if err != nil {
		w.buf = append(w.buf, "null"...)
		w.Fail(within(w.place(), err))
		return
	}
	w.buf = out
}

// Members writes the members of an object into the open one, compact. A name that the
// open one has already is a failure: what was admitted with one value must not be sent
// with another.
func (w *Writer) Members(object []byte) {
	if len(object) == 0 || w.err != nil {
		return
	}
	at := len(w.buf)
	out, err := AppendCompact(w.buf, object)
	if err == nil && out[at] != '{' {
		err = errNotObject
	}
	if err != nil {
		w.Fail(within(w.placeOf("").Parent(), err))
		return
	}
	if name, twice := w.repeated(out[at:]); twice {
		w.Fail(within(w.placeOf(name), jsontext.ErrDuplicateName))
		return
	}
	out = out[:len(out)-1]
	switch {
	case len(out) == at+1: // it has none
		return
	case out[at-1] == '{':
		out = append(out[:at], out[at+1:]...)
	default:
		out[at] = ','
	}
	w.buf = out
}

var errNotObject = errors.New("members of a value that is no object")

// repeated returns the first name of an object that the open one has already.
func (w *Writer) repeated(object []byte) (string, bool) {
	found := ""
	twice := false
	_, plain := skim(object, func(name, _ span) bool {
		if twice = w.Has(string(object[name.from:name.to])); twice {
			found = string(object[name.from:name.to])
		}
		return twice
	})
	if plain {
		return found, twice
	}
	found, twice = "", false
	_ = Walk(object, func(name string, _ jsontext.Value) bool {
		if twice = w.Has(name); twice {
			found = name
		}
		return !twice
	}, jsontext.AllowInvalidUTF8(true))
	return found, twice
}

// place is where the value stands that was written last.
func (w *Writer) place() jsontext.Pointer {
	d := jsontext.NewDecoder(bytes.NewReader(w.buf[w.start:]), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for {
		if _, err := d.ReadToken(); err != nil {
			return d.StackPointer()
		}
	}
}

// placeOf is where a member of the open object would stand.
func (w *Writer) placeOf(name string) jsontext.Pointer {
	w.KeyOf(name)
	w.buf = append(w.buf, "null"...)
	return w.place()
}

// Float writes a number as ECMAScript spells it. JSON has none that is not finite: it is
// a failure.
func (w *Writer) Float(name string, f float64) {
	w.Key(name)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.buf = append(w.buf, "null"...)
		w.Fail(within(w.place(), errNotFinite))
		return
	}
	w.buf = jsontext.AppendFloat(w.buf, f, 64)
}

var errNotFinite = errors.New("a number that is not finite")

// FloatOpt leaves out what is not there.
func (w *Writer) FloatOpt(name string, f *float64) {
	if f != nil {
		w.Float(name, *f)
	}
}

// ShortFloat writes a finite number as Go spells it: 1e-05 and 1e+21.
func (w *Writer) ShortFloat(name string, f float64) {
	w.Key(name)
	w.buf = strconv.AppendFloat(w.buf, f, 'g', -1, 64)
}
