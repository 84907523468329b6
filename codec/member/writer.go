package member

import (
	"slices"
	"strconv"
	"sync"
)

// Writer appends JSON text, members in the order of the calls. It needs no reflection,
// and gives back one piece of memory, which has the right size from the start if its
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
