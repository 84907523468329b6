package messages

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"

	"github.com/genway/genway/codec/fault"
	"github.com/go-json-experiment/json/jsontext"
)

// writer appends JSON text. Unlike json.Marshal it copies raw JSON byte for byte
// (whitespace, escapes, spelling of numbers), which schemas and signatures of
// other people's bytes depend on. The first failure stays in err.
type writer struct {
	buf []byte
	// start is where the text being written begins in buf.
	start int
	// names are the members of the open objects, of which each begins at a mark.
	names []string
	marks []int
	// answer says that an answer is written, not a request.
	answer bool
	err    error
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// comma separates what follows from what stands before it in the same object or
// array.
func (w *writer) comma() {
	if len(w.buf) == w.start {
		return
	}
	switch w.buf[len(w.buf)-1] {
	case '{', '[', ':':
	default:
		w.buf = append(w.buf, ',')
	}
}

// begin opens an object: the whole text, an element, or the value of a key.
func (w *writer) begin() {
	w.comma()
	w.buf = append(w.buf, '{')
	w.marks = append(w.marks, len(w.names))
}

func (w *writer) end() {
	w.buf = append(w.buf, '}')
	last := len(w.marks) - 1
	w.names, w.marks = w.names[:w.marks[last]], w.marks[:last]
}

func (w *writer) beginList() {
	w.comma()
	w.buf = append(w.buf, '[')
}

func (w *writer) endList() { w.buf = append(w.buf, ']') }

func (w *writer) key(name string) {
	w.comma()
	w.names = append(w.names, name)
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, name...)
	w.buf = append(w.buf, '"', ':')
}

// keyOf is key for a name that is not one of ours and may need escapes.
func (w *writer) keyOf(name string) {
	w.comma()
	w.names = append(w.names, name)
	w.quote(name)
	w.buf = append(w.buf, ':')
}

// has reports whether the open object has the member already.
func (w *writer) has(name string) bool {
	return slices.Contains(w.names[w.marks[len(w.marks)-1]:], name)
}

// quote appends a string; what is not UTF-8 in it becomes U+FFFD.
func (w *writer) quote(s string) {
	w.buf, _ = jsontext.AppendQuote(w.buf, s)
}

func (w *writer) object(name string) {
	w.key(name)
	w.begin()
}

func (w *writer) list(name string) {
	w.key(name)
	w.beginList()
}

func (w *writer) str(name, value string) {
	w.key(name)
	w.quote(value)
}

// optStr writes a string unless it is empty.
func (w *writer) optStr(name, value string) {
	if value != "" {
		w.str(name, value)
	}
}

// strOrNull writes null for no string.
func (w *writer) strOrNull(name string, value *string) {
	if value == nil {
		w.null(name)
		return
	}
	w.str(name, *value)
}

func (w *writer) int(name string, value int64) {
	w.key(name)
	w.buf = strconv.AppendInt(w.buf, value, 10)
}

func (w *writer) bool(name string, value bool) {
	w.key(name)
	w.buf = strconv.AppendBool(w.buf, value)
}

func (w *writer) null(name string) {
	w.key(name)
	w.buf = append(w.buf, "null"...)
}

// float writes a number; path names it in the canonical message.
func (w *writer) float(name string, value float64, path string) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		w.fail(fault.Invalid(path, "%s is not a number JSON can carry", path))
		return
	}
	w.key(name)
	w.buf = strconv.AppendFloat(w.buf, value, 'g', -1, 64)
}

func (w *writer) base64(name string, data []byte) {
	w.key(name)
	w.buf = append(w.buf, '"')
	w.buf = base64.StdEncoding.AppendEncode(w.buf, data)
	w.buf = append(w.buf, '"')
}

// raw writes a value as it is; path names it in the canonical message.
func (w *writer) raw(name string, value []byte, path string) {
	w.key(name)
	w.value(value, path)
}

// value writes an element or the value of a key as it is.
func (w *writer) value(value []byte, path string) {
	if !jsontext.Value(value).IsValid(jsontext.AllowInvalidUTF8(true)) {
		w.fail(fault.Invalid(path, "%s is not valid JSON", path))
		value = []byte("null")
	}
	w.comma()
	w.buf = append(w.buf, value...)
}
