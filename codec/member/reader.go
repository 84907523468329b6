package member

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"strconv"
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

// Before returns what a decoder's InputOffset returns before a value.
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

// Object is the progress of a Reader through the members of one object. The zero value is
// ready for Open. The generated code of the codecs goes through an object like this:
//
//	var o member.Object
//	for r.Open(&o); o.More; r.Next(&o) {
//		if !v.readMember(r, &o) { // by o.Name
//			return false
//		}
//	}
//	return r.Close(&o)
type Object struct {
	// Name is the name of the member whose value is next, a part of the body.
	Name []byte
	// More reports whether there is such a member.
	More bool
	ok   bool
	// opened says that others is in use.
	opened bool
	// seen has a bit for each known member, others the names of all other members.
	seen   uint64
	others scope
	name   span
}

// Open enters the object that is next.
func (r *Reader) Open(o *Object) {
	o.More, o.ok = r.enter('{')
	r.advance(o)
}

// Next goes to the next member, or leaves the object.
func (r *Reader) Next(o *Object) {
	o.More, o.ok = r.after('}')
	r.advance(o)
}

// advance reads the name of the next member.
func (r *Reader) advance(o *Object) {
	if !o.More {
		return
	}
	if o.name, o.ok = r.name(); !o.ok {
		o.More = false
		return
	}
	o.Name = r.b[o.name.from:o.name.to]
}

// Close reports whether the object was read to its end.
func (r *Reader) Close(o *Object) bool {
	if o.opened {
		r.names.close(o.others)
	}
	return o.ok
}

// Once notes a known member by its number; false when the object had it before.
func (o *Object) Once(number uint) bool {
	bit := uint64(1) << number
	first := o.seen&bit == 0
	o.seen |= bit
	return first
}

// Other adds a member that no field is for to the others of its object.
func (r *Reader) Other(o *Object, to *jsontext.Value) bool {
	if !r.unique(o) {
		return false
	}
	value, ok := r.Value()
	return ok && value.Extra(to, o.Name)
}

// Skip passes over a member that no field is for.
func (r *Reader) Skip(o *Object) bool {
	if !r.unique(o) {
		return false
	}
	_, ok := r.Value()
	return ok
}

// unique notes the name of another member; false when the object had it before.
func (r *Reader) unique(o *Object) bool {
	if !o.opened {
		o.opened, o.others = true, r.names.open()
	}
	return r.names.add(r.b, &o.others, o.name)
}

// names are the names of all objects that are open, the innermost last, to find
// duplicates by. They are held in place, as pointers into itself would put all of it on
// the heap.
type names struct {
	first [32]span
	more  []span
	n     int
}

// scope is those of one of them: all from the first on.
type scope struct {
	from int
	many map[string]struct{}
}

// few is how many names of an object are compared one by one.
const few = 32

func (n *names) open() scope { return scope{from: n.n} }

func (n *names) close(s scope) {
	n.n = s.from
	n.more = n.more[:max(n.n-len(n.first), 0)]
}

func (n *names) at(i int) span {
	if i < len(n.first) {
		return n.first[i]
	}
	return n.more[i-len(n.first)]
}

func (n *names) push(name span) {
	if n.n < len(n.first) {
		n.first[n.n] = name
	} else {
		n.more = append(n.more, name)
	}
	n.n++
}

// add notes a name of the innermost object, unless it was there.
func (n *names) add(b []byte, s *scope, name span) bool {
	text := b[name.from:name.to]
	if s.many != nil {
		_, there := s.many[string(text)]
		s.many[string(text)] = struct{}{}
		return !there
	}
	for i := s.from; i < n.n; i++ {
		if other := n.at(i); bytes.Equal(b[other.from:other.to], text) {
			return false
		}
	}
	n.push(name)
	if n.n-s.from > few {
		s.many = make(map[string]struct{}, 4*few)
		for i := s.from; i < n.n; i++ {
			other := n.at(i)
			s.many[string(b[other.from:other.to])] = struct{}{}
		}
	}
	return true
}

// words are short strings that were read lately: the names of roles, types and models
// that are in body after body need no memory of their own.
type words [128]string

// maxWord bounds the strings that are kept.
const maxWord = 48

// text returns a string that says what is in b.
func (w *words) text(b []byte) string {
	var mix uint64
	switch n := len(b); {
	case n == 0 || n > maxWord:
		return string(b)
	case n >= 8:
		mix = binary.LittleEndian.Uint64(b) ^ binary.LittleEndian.Uint64(b[n-8:])<<1
	case n >= 4:
		mix = uint64(binary.LittleEndian.Uint32(b)) ^ uint64(binary.LittleEndian.Uint32(b[n-4:]))<<17
	default:
		mix = uint64(b[0]) ^ uint64(b[n/2])<<8 ^ uint64(b[n-1])<<16
	}
	place := &w[mix*0x9e3779b97f4a7c15>>57]
	if *place != string(b) {
		*place = string(b)
	}
	return *place
}

// The methods here read one value into a field, as the JSON library does. A null leaves
// the field as it is, which is zero; raw JSON is null then.

// Str reads a string.
func (r *Reader) Str(to *string) bool { return r.Null() || r.Text(to) }

// ReadString is Str as a function, for the elements of a list.
func ReadString(to *string, r *Reader) bool { return r.Str(to) }

// Bool reads true or false.
func (r *Reader) Bool(to *bool) bool {
	if end, ok := word(r.b, r.i, "true"); ok {
		r.i, *to = end, true
		return true
	}
	end, ok := word(r.b, r.i, "false")
	if ok {
		r.i = end
	}
	return ok || r.Null()
}

// Int64 reads a whole number.
func (r *Reader) Int64(to *int64) bool { return integer(r, to, 64) }

// Int32 reads a whole number.
func (r *Reader) Int32(to *int32) bool { return integer(r, to, 32) }

// Int reads a whole number.
func (r *Reader) Int(to *int) bool { return integer(r, to, strconv.IntSize) }

func integer[T int | int32 | int64](r *Reader, to *T, bits int) bool {
	if r.Null() {
		return true
	}
	text, ok := r.Number()
	if !ok {
		return false
	}
	n, err := strconv.ParseInt(string(text), 10, bits)
	*to = T(n)
	return err == nil
}

// Uint8 reads a whole number of eight bits.
func (r *Reader) Uint8(to *uint8) bool {
	if r.Null() {
		return true
	}
	text, ok := r.Number()
	if !ok {
		return false
	}
	n, err := strconv.ParseUint(string(text), 10, 8)
	*to = uint8(n)
	return err == nil
}

// Float reads a number.
func (r *Reader) Float(to *float64) bool {
	if r.Null() {
		return true
	}
	text, ok := r.Number()
	if !ok {
		return false
	}
	n, err := strconv.ParseFloat(string(text), 64)
	*to = n
	return err == nil
}

// Strings reads a list of strings. Inlined into another package, it would put what to is in on
// the heap: the compiler knows no escapes of instances of other packages.
//
//go:noinline
func (r *Reader) Strings(to *[]string) bool { return ReadList(r, to, ReadString) }

// Raws reads a list of values of any type, each as it is written: the elements are parts of
// the body, and what is kept of them longer is to be cloned.
//
//go:noinline
func (r *Reader) Raws(to *[]jsontext.Value) bool {
	return ReadList(r, to, func(v *jsontext.Value, r *Reader) bool {
		raw, ok := r.Value()
		*v = jsontext.Value(slices.Clip(raw))
		return ok
	})
}

// StringMap reads an object whose values are strings.
func (r *Reader) StringMap(to *map[string]string) bool {
	if r.Null() {
		return true
	}
	all := map[string]string{}
	*to = all
	more, ok := r.enter('{')
	for more {
		var name span
		var text string
		if name, ok = r.name(); !ok || !r.Str(&text) {
			return false
		}
		key := string(r.b[name.from:name.to])
		if _, twice := all[key]; twice {
			return false
		}
		all[key] = text
		if more, ok = r.after('}'); !ok {
			return false
		}
	}
	return ok
}

// ReadList reads an array, each element by read. It uses the memory of the list that to
// has, which must be empty.
func ReadList[T any](r *Reader, to *[]T, read func(*T, *Reader) bool) bool {
	if r.Null() {
		return true
	}
	more, ok := r.enter('[')
	if !more {
		if *to = (*to)[:0]; *to == nil {
			*to = []T{}
		}
		return ok
	}
	list := *to
	if cap(list) == 0 {
		list = listIn[T](r)
	}
	for more {
		n := len(list)
		if n == cap(list) {
			list = slices.Grow(list, max(n, 1))
		}
		var zero T
		list = append(list, zero)
		if !read(&list[n], r) {
			return false
		}
		if more, ok = r.after(']'); !ok {
			return false
		}
	}
	*to = list
	return true
}

// listIn returns an empty list with memory for as many elements as most lists have.
func listIn[T any](r *Reader) []T {
	if s := slotOf[T](r); s != nil {
		return s.one[:0]
	}
	if reflect.TypeFor[T]().Size() > 128 {
		return make([]T, 0, 1)
	}
	return make([]T, 0, 4)
}

// New makes what a pointer is to point at, and returns it back.
func New[T any](r *Reader, to **T) *T {
	if s := slotOf[T](r); s != nil {
		clear(s.one[:])
		*to = &s.one[0]
	} else {
		*to = new(T)
	}
	return *to
}

// Room is memory that is used again for body after body. What was read is valid until
// the next body is read in the same room.
type Room struct{ slots []slot }

type slot interface{ free() }

// Slot is the room for one value of a type, or for a list of one.
type Slot[T any] struct {
	one  [1]T
	used bool
}

func (s *Slot[T]) free() { s.used = false }

// NewRoom returns a room with the slots, each of a type of its own.
func NewRoom(slots ...slot) *Room { return &Room{slots: slots} }

// slotOf returns a free slot for a type; nil when there is none.
func slotOf[T any](r *Reader) *Slot[T] {
	if r.room == nil {
		return nil
	}
	for _, s := range r.room.slots {
		if s, ok := s.(*Slot[T]); ok && !s.used {
			s.used = true
			return s
		}
	}
	return nil
}
