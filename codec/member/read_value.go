package member

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

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
