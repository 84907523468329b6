package member

import (
	"bytes"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads a body into wire structs by the code that wiregen has generated for them. It
// reads common JSON, and what it sets is what the JSON library sets. All of its methods give
// false on anything else: on what is wrong, and on what is only uncommon, such as invalid UTF-8
// and names with escapes. The library then decodes the body again from the start, so that all
// errors are the library's.
//
// Everything it reads into must be zero before, and is not to be used once it gave false.
type Reader struct {
	scanner
	i, depth int
	// before is where that ends which is ahead of the value, without the comma or colon.
	before  int
	scratch []byte
	words   words
	// room is memory to be used again; nil for none.
	room *Room
}

// ValueReader is implemented by types that read themselves, as those do that have a
// method UnmarshalJSONFrom: a value is read in full, or false given.
type ValueReader interface {
	ReadJSON(r *Reader) bool
}

// readers are kept for their words and their scratch.
var readers sync.Pool

// maxScratch bounds the scratch that is kept.
const maxScratch = 64 << 10

// Read reads an object into v, a pointer to a zero struct, as Decode does. False leaves v
// zero and says that the library is to decode the body: v has no generated code, or the body
// is wrong or only uncommon.
func Read(body []byte, v any) bool { return ReadIn(nil, body, v) }

// ReadIn is Read with memory that is used again: v is valid until the next body is read in
// the room.
func ReadIn(room *Room, body []byte, v any) bool {
	own, ok := v.(ValueReader)
	if !ok {
		return false
	}
	r := newReader(body)
	if r.room = room; room != nil {
		for _, s := range room.slots {
			s.free()
		}
	}
	ok = r.Kind() == '{' && own.ReadJSON(r) && space(body, r.i) == len(body)
	if !ok {
		reflect.ValueOf(v).Elem().SetZero()
	}
	r.release(ok)
	return ok
}

// newReader returns a reader at the first value of a body.
func newReader(body []byte) *Reader {
	r, ok := readers.Get().(*Reader)
	if !ok {
		r = new(Reader)
	}
	r.b, r.i, r.depth, r.before = body, space(body, 0), 0, 0
	return r
}

// release takes a reader back; whole says that it is at the end of its body.
func (r *Reader) release(whole bool) {
	r.b, r.room = nil, nil
	if !whole {
		r.names = names{} // some are open
	}
	if cap(r.scratch) > maxScratch {
		r.scratch = nil
	}
	readers.Put(r)
}

// Kind returns the first byte of the value that is next; 0 when there is none.
func (r *Reader) Kind() byte {
	if r.i >= len(r.b) {
		return 0
	}
	return r.b[r.i]
}

// Before returns the offset that a decoder's InputOffset gives ahead of a value.
func (r *Reader) Before() int64 { return int64(r.before) }

// Offset returns where the value ends that was read last.
func (r *Reader) Offset() int64 { return int64(r.i) }

// Null reports whether null is next, and reads it.
func (r *Reader) Null() bool {
	if r.Kind() != 'n' {
		return false
	}
	end, ok := word(r.b, r.i, "null")
	if ok {
		r.i = end
	}
	return ok
}

// Value returns the value that is next, a part of the body.
func (r *Reader) Value() (Raw, bool) {
	end, ok := r.value(r.i, r.depth)
	if !ok {
		return nil, false
	}
	v := Raw(r.b[r.i:end])
	r.i = end
	return v, true
}

// Keep reads any value as it is written.
func (r *Reader) Keep(to *jsontext.Value) bool {
	v, ok := r.Value()
	*to = bytes.Clone(v)
	return ok
}

// Borrow reads any value as a part of the body.
func (r *Reader) Borrow(to *jsontext.Value) bool {
	v, ok := r.Value()
	*to = jsontext.Value(v)
	return ok
}

// Text reads a string.
func (r *Reader) Text(to *string) bool {
	if r.Kind() != '"' {
		return false
	}
	end, ok := String(r.b, r.i)
	if !ok {
		return false
	}
	text := r.b[r.i+1 : end-1]
	r.i = end
	if bytes.IndexByte(text, '\\') < 0 {
		*to = r.words.text(text)
		return true
	}
	if r.scratch, ok = unquote(r.scratch[:0], text); ok {
		*to = r.words.text(r.scratch)
	}
	return ok
}

// Number returns the text of the number that is next.
func (r *Reader) Number() ([]byte, bool) {
	if c := r.Kind(); c != '-' && c-'0' > 9 {
		return nil, false
	}
	end, ok := number(r.b, r.i)
	if !ok {
		return nil, false
	}
	text := r.b[r.i:end]
	r.i = end
	return text, true
}

// enter goes into the object or array that is next, and reports whether there is more in
// it than nothing.
func (r *Reader) enter(bracket byte) (more, ok bool) {
	if r.Kind() != bracket || r.depth >= maxScanDepth {
		return false, false
	}
	r.before = r.i + 1
	r.i = space(r.b, r.before)
	if r.Kind() == bracket+2 {
		r.i++
		return false, true
	}
	r.depth++
	return true, true
}

// after goes on behind a value: to the next, or out of the object or array.
func (r *Reader) after(bracket byte) (more, ok bool) {
	r.before = r.i
	i := space(r.b, r.i)
	switch {
	case i >= len(r.b):
		return false, false
	case r.b[i] == ',':
		r.i = space(r.b, i+1)
		return true, true
	}
	r.i = i + 1
	r.depth--
	return false, r.b[i] == bracket
}

// name returns the name of the member that is next, and goes to its value.
func (r *Reader) name() (span, bool) {
	name := span{from: r.i + 1, to: r.i + 1}
	if r.Kind() != '"' {
		return name, false
	}
	for name.to < len(r.b) && inName[r.b[name.to]] {
		name.to++
	}
	if r.before = name.to + 1; name.to >= len(r.b) || r.b[name.to] != '"' {
		var ok bool
		if name, r.before, ok = scanName(r.b, r.i); !ok {
			return name, false
		}
	}
	i := space(r.b, r.before)
	if i >= len(r.b) || r.b[i] != ':' {
		return name, false
	}
	r.i = space(r.b, i+1)
	return name, true
}

// inName are the characters that names are mostly made of.
var inName = func() (is [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()
