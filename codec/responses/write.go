package responses

import (
	"encoding/base64"
	"math"
	"strconv"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// writer appends JSON text, members in the order of the calls. Raw values go in
// byte for byte: json.Marshal would strip their blanks and respell their strings
// (case T16).
type writer struct{ buf []byte }

// sep puts a comma where the next member or element needs one.
func (w *writer) sep() {
	if n := len(w.buf); n > 0 {
		switch w.buf[n-1] {
		case '{', '[', ':':
		default:
			w.buf = append(w.buf, ',')
		}
	}
}

// key begins a member. Its name needs no escapes.
func (w *writer) key(name string) {
	w.sep()
	w.buf = append(append(append(w.buf, '"'), name...), '"', ':')
}

// begin opens an object or an array, as an element or after key.
func (w *writer) begin(bracket byte) {
	w.sep()
	w.buf = append(w.buf, bracket)
}

func (w *writer) end(bracket byte) { w.buf = append(w.buf, bracket) }

// text writes a string. Bytes that are not UTF-8 become U+FFFD.
func (w *writer) text(s string) {
	w.sep()
	w.buf, _ = jsontext.AppendQuote(w.buf, s)
}

func (w *writer) str(name, s string) {
	w.key(name)
	w.text(s)
}

// strOpt leaves out what is empty.
func (w *writer) strOpt(name, s string) {
	if s != "" {
		w.str(name, s)
	}
}

// strNull spells what is empty as null.
func (w *writer) strNull(name, s string) {
	if s == "" {
		w.raw(name, "null")
		return
	}
	w.str(name, s)
}

func (w *writer) raw(name, json string) {
	w.key(name)
	w.buf = append(w.buf, json...)
}

func (w *writer) rawBytes(name string, json []byte) {
	w.key(name)
	w.buf = append(w.buf, json...)
}

func (w *writer) value(json []byte) {
	w.sep()
	w.buf = append(w.buf, json...)
}

func (w *writer) int(name string, n int64) {
	w.key(name)
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

func (w *writer) bool(name string, b bool) {
	w.key(name)
	w.buf = strconv.AppendBool(w.buf, b)
}

// float writes a number; JSON has none that are not finite.
func (w *writer) float(name string, f float64) {
	w.key(name)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.buf = append(w.buf, "null"...)
		return
	}
	w.buf = strconv.AppendFloat(w.buf, f, 'g', -1, 64)
}

func (w *writer) intOpt(name string, n *int64) {
	if n != nil {
		w.int(name, *n)
	}
}

func (w *writer) floatOpt(name string, f *float64) {
	if f != nil {
		w.float(name, *f)
	}
}

func (w *writer) boolOpt(name string, b *bool) {
	if b != nil {
		w.bool(name, *b)
	}
}

// members splices the members of an object in; an empty value has none.
func (w *writer) members(object jsontext.Value) {
	if len(object) > len("{}") {
		w.sep()
		w.buf = append(w.buf, object[1:len(object)-1]...)
	}
}

// mediaURL writes the URL of media, bytes as a data: URL, which needs no escapes.
func (w *writer) mediaURL(name string, m *genwayv1.Media) {
	data, ok := m.GetSource().(*genwayv1.Media_Data)
	if !ok {
		w.str(name, m.GetUrl())
		return
	}
	mediaType := m.GetMediaType()
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	w.str(name, "data:"+mediaType+";base64,")
	w.buf = w.buf[:len(w.buf)-1]
	w.buf = append(base64.StdEncoding.AppendEncode(w.buf, data.Data), '"')
}

// base64 writes bytes as standard base64.
func (w *writer) base64(name string, data []byte) {
	w.key(name)
	w.buf = append(w.buf, '"')
	w.buf = append(base64.StdEncoding.AppendEncode(w.buf, data), '"')
}

// element writes an integer into an array.
func (w *writer) element(n int64) {
	w.sep()
	w.buf = strconv.AppendInt(w.buf, n, 10)
}
