package member

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Writer appends JSON text, members in the order of the calls. It needs no reflection,
// and returns one piece of memory, which has the right size from the start if its
// maker knows it. The zero value is ready for use.
//
// Methods whose first argument is a name write a member; those without one write an
// element, or the value behind Key. The first failure stays, and Finish returns it.
type Writer struct {
	buf []byte
	// start is where the text being written begins in buf.
	start int
	// names are the members of the open objects, of which each begins at a mark.
	names []string
	marks []int
	// unchecked says that JSON of others went in as it is.
	unchecked bool
	// strict says that JSON of others must be JSON, each value by itself.
	strict bool
	err    error
}

var writers = sync.Pool{New: func() any {
	return &Writer{names: make([]string, 0, 32), marks: make([]int, 0, 16)}
}}

// NewWriter returns a writer for a text of about so many bytes, or the frames of an event. Finish
// takes it back.
func NewWriter(size int) *Writer {
	w := writers.Get().(*Writer) //nolint:forcetypeassert // nothing else is put
	w.buf = make([]byte, 0, size)
	return w
}

// Finish returns the text, or the first failure. A writer of NewWriter is not to be used
// behind it.
func (w *Writer) Finish() ([]byte, error) {
	buf, err := w.buf, w.err
	clear(w.names[:cap(w.names)]) // they may be a caller's
	*w = Writer{names: w.names[:0], marks: w.marks[:0]}
	writers.Put(w)
	if err != nil {
		return nil, err
	}
	return buf, nil
}

// FinishChecked is Finish for a text that JSON of others went into unchecked (Raw, Value,
// Spliced), and that must be JSON without a name twice all the same.
func (w *Writer) FinishChecked() ([]byte, error) {
	unchecked := w.unchecked
	body, err := w.Finish()
	if err != nil || !unchecked || Valid(body) {
		return body, err
	}
	if _, err = AppendCompact(nil, body); err != nil { // says where
		return nil, err
	}
	return body, nil
}

// Strict makes values of others that are no JSON by themselves failures. It is for
// requests: a direct caller's value could end its object and go on with members of another.
func (w *Writer) Strict() { w.strict = true }

// Reset forgets all texts, for a stream's encoder, whose frames are valid until the next
// event.
func (w *Writer) Reset() {
	w.buf, w.start = w.buf[:0], 0
	w.names, w.marks = w.names[:0], w.marks[:0]
}

// Next begins another text behind those written since Reset.
func (w *Writer) Next() { w.start = len(w.buf) }

// Text returns the text written since Next.
func (w *Writer) Text() []byte { return w.buf[w.start:len(w.buf):len(w.buf)] }

// Err returns the first failure.
func (w *Writer) Err() error { return w.err }

// Fail notes a failure, unless there was one.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// comma separates what follows from what stands before it in the same object or array.
func (w *Writer) comma() {
	if n := len(w.buf); n > w.start {
		switch w.buf[n-1] {
		case '{', '[', ':':
		default:
			w.buf = append(w.buf, ',')
		}
	}
}

// Begin opens an object.
func (w *Writer) Begin() {
	w.comma()
	w.buf = append(w.buf, '{')
	w.marks = append(w.marks, len(w.names))
}

// End closes the object that is open.
func (w *Writer) End() {
	w.buf = append(w.buf, '}')
	if last := len(w.marks) - 1; last >= 0 {
		w.names, w.marks = w.names[:w.marks[last]], w.marks[:last]
	}
}

// BeginList opens an array.
func (w *Writer) BeginList() {
	w.comma()
	w.buf = append(w.buf, '[')
}

// EndList closes the array that is open.
func (w *Writer) EndList() { w.buf = append(w.buf, ']') }

// Key begins a member. Its name needs no escapes.
func (w *Writer) Key(name string) {
	w.comma()
	w.names = append(w.names, name)
	w.buf = append(append(append(w.buf, '"'), name...), '"', ':')
}

// KeyOf is Key for a name that is not one of ours and may need escapes.
func (w *Writer) KeyOf(name string) {
	w.comma()
	w.names = append(w.names, name)
	w.buf = append(AppendQuote(w.buf, name), ':')
}

// Has reports whether the open object has the member already.
func (w *Writer) Has(name string) bool {
	from := 0
	if last := len(w.marks) - 1; last >= 0 {
		from = w.marks[last]
	}
	return slices.Contains(w.names[from:], name)
}

// Object opens an object as a member.
func (w *Writer) Object(name string) {
	w.Key(name)
	w.Begin()
}

// List opens an array as a member.
func (w *Writer) List(name string) {
	w.Key(name)
	w.BeginList()
}

// Int writes a whole number.
func (w *Writer) Int(name string, n int64) {
	w.Key(name)
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

// Element writes a whole number into an array.
func (w *Writer) Element(n int64) {
	w.comma()
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

// Bool writes true or false.
func (w *Writer) Bool(name string, b bool) {
	w.Key(name)
	w.buf = strconv.AppendBool(w.buf, b)
}

// Null writes null.
func (w *Writer) Null(name string) {
	w.Key(name)
	w.buf = append(w.buf, "null"...)
}

// IntOpt leaves out what is not there.
func IntOpt[T ~int32 | ~int64](w *Writer, name string, n *T) {
	if n != nil {
		w.Int(name, int64(*n))
	}
}

// BoolOpt leaves out what is not there.
func (w *Writer) BoolOpt(name string, b *bool) {
	if b != nil {
		w.Bool(name, *b)
	}
}

// String writes a string; what is not UTF-8 in it becomes U+FFFD.
func (w *Writer) String(s string) {
	w.comma()
	w.buf = AppendQuote(w.buf, s)
}

// Str writes a string.
func (w *Writer) Str(name, s string) {
	w.Key(name)
	w.buf = AppendQuote(w.buf, s)
}

// StrOpt leaves out what is empty.
func (w *Writer) StrOpt(name, s string) {
	if s != "" {
		w.Str(name, s)
	}
}

// StrOrNull writes null for no string.
func (w *Writer) StrOrNull(name string, s *string) {
	if s == nil {
		w.Null(name)
		return
	}
	w.Str(name, *s)
}

// StrsOpt writes an array of strings unless it is empty.
func (w *Writer) StrsOpt(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.List(name)
	for _, s := range list {
		w.String(s)
	}
	w.EndList()
}

// Base64 writes bytes as standard base64.
func (w *Writer) Base64(name string, data []byte) {
	w.Key(name)
	w.buf = append(w.buf, '"')
	w.buf = append(AppendBase64(w.buf, data), '"')
}

// DataURL writes media as DataURL spells it.
func (w *Writer) DataURL(name string, m *genwayv1.Media) {
	data, ok := m.GetSource().(*genwayv1.Media_Data)
	if !ok {
		w.Str(name, m.GetUrl())
		return
	}
	mediaType := m.GetMimeType()
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	w.Str(name, "data:"+mediaType+";base64,")
	w.buf = append(AppendBase64(w.buf[:len(w.buf)-1], data.Data), '"')
}

// StrPtr leaves out what is not there.
func (w *Writer) StrPtr(name string, s *string) {
	if s != nil {
		w.Str(name, *s)
	}
}

// StringMapOpt writes an object of strings, in the order of their names, unless it is
// empty.
func (w *Writer) StringMapOpt(name string, all map[string]string) {
	if len(all) == 0 {
		return
	}
	w.Object(name)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		w.KeyOf(key)
		w.String(all[key])
	}
	w.End()
}

// WriteList writes an array of objects; null for a nil list.
func WriteList[T any](w *Writer, name string, list []T, write func(*T, *Writer)) {
	if list == nil {
		w.Null(name)
		return
	}
	WriteArray(w, name, list, write)
}

// WriteArray is WriteList with an empty array for a nil list.
func WriteArray[T any](w *Writer, name string, list []T, write func(*T, *Writer)) {
	w.List(name)
	for i := range list {
		write(&list[i], w)
	}
	w.EndList()
}

// StrsArray writes an array of strings.
func (w *Writer) StrsArray(name string, list []string) {
	w.List(name)
	for _, s := range list {
		w.String(s)
	}
	w.EndList()
}

// IntsOpt writes an array of whole numbers unless it is empty.
func IntsOpt[T ~int | ~int32 | ~int64 | ~uint8](w *Writer, name string, list []T) {
	if len(list) == 0 {
		return
	}
	w.List(name)
	for _, n := range list {
		w.Element(int64(n))
	}
	w.EndList()
}
