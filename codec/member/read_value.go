package member

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"
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

// Natives turns the members a wire struct has no field for (collected by a
// `json:",embed"` field of type jsontext.Value) into native fields, in their
// order. binding says whether a member bears on the answer; nil says none does.
// Members that are null say nothing and are left out. Their values are parts of extra.
func Natives(protocol genwayv1.Protocol, extra jsontext.Value, binding func(name string) bool) []*genwayv1.NativeField {
	return NativesBut(nil, protocol, extra, binding)
}

// NativesBut is Natives without the members that but names. If but is not nil, the values are copies, so
// that they do not keep all of extra in memory.
func NativesBut(but map[string]bool, protocol genwayv1.Protocol, extra jsontext.Value, binding func(name string) bool) []*genwayv1.NativeField {
	if len(extra) == 0 {
		return nil
	}
	var fields []*genwayv1.NativeField
	if _, ok := skim(extra, func(name, value span) bool {
		if extra[value.from] == 'n' || but[string(extra[name.from:name.to])] {
			return false
		}
		f := &genwayv1.NativeField{Protocol: protocol, Name: string(extra[name.from:name.to]), Json: extra[value.from:value.to:value.to]}
		if f.Binding = binding != nil && binding(f.Name); but != nil {
			f.Json = bytes.Clone(f.Json)
		}
		fields = append(fields, f)
		return false
	}); ok && utf8.Valid(extra) {
		return fields
	}
	return slices.DeleteFunc(decodedNatives(protocol, extra, binding), func(f *genwayv1.NativeField) bool { return but[f.Name] })
}

// NativesUnder returns the unknown members of an object that has no canonical message of its own:
// they belong to the message around it, and their names begin with prefix, which ends with a dot.
func NativesUnder(protocol genwayv1.Protocol, prefix string, extra jsontext.Value) []*genwayv1.NativeField {
	fields := Natives(protocol, extra, nil)
	for _, f := range fields {
		f.Name = prefix + f.Name
	}
	return fields
}

// HasNative reports whether a field has that name.
func HasNative(fields []*genwayv1.NativeField, name string) bool {
	return slices.ContainsFunc(fields, func(f *genwayv1.NativeField) bool { return f.Name == name })
}

// decodedNatives is Natives for objects whose names have escapes, or may not be text. Members
// ahead of a mistake count.
func decodedNatives(protocol genwayv1.Protocol, extra jsontext.Value, binding func(name string) bool) []*genwayv1.NativeField {
	var fields []*genwayv1.NativeField
	_ = Walk(extra, func(name string, value jsontext.Value) bool {
		if value.Kind() != 'n' {
			fields = append(fields, &genwayv1.NativeField{Protocol: protocol, Name: name, Json: bytes.Clone(value), Binding: binding != nil && binding(name)})
		}
		return true
	}, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return fields
}

// Extra returns the native fields of the protocol as the value of a
// `json:",embed"` field. A value that is no JSON is refused, since it could end its object
// and go on with members of another. Fields of another protocol are refused when binding and
// named in losses otherwise; path is that of the object they belong to. Marks are
// passed over.
func Extra(protocol genwayv1.Protocol, fields []*genwayv1.NativeField, path string, losses *codec.Losses) (jsontext.Value, error) {
	var out []byte
	for _, f := range fields {
		if IsMark(f) {
			continue
		}
		if f.Protocol != protocol {
			member := Join(path, f.Name)
			if f.Binding {
				return nil, fault.Unsupported(member, "%s cannot be carried to the upstream this model is routed to", member)
			}
			losses.Add(member, "the target protocol has no place for it")
			continue
		}
		if !Valid(f.Json) {
			at := Join(path, f.Name)
			return nil, fault.Invalid(at, "%s is not valid JSON", at)
		}
		if out == nil {
			out = append(out, '{')
		} else {
			out = append(out, ',')
		}
		quoted, err := jsontext.AppendQuote(out, f.Name)
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
		}
		out = append(append(quoted, ':'), f.Json...)
	}
	if out != nil {
		out = append(out, '}')
	}
	return out, nil
}

// Native finds the value of a native field of the protocol; nil when absent.
func Native(protocol genwayv1.Protocol, fields []*genwayv1.NativeField, name string) jsontext.Value {
	for _, f := range fields {
		if f.Protocol == protocol && f.Name == name {
			return f.Json
		}
	}
	return nil
}

// Time is a Unix time in seconds. It is nil for 0, which stands for no time, and for one that
// no Timestamp can hold, such as a time in milliseconds.
func Time(seconds int64) *timestamppb.Timestamp {
	if seconds == 0 {
		return nil
	}
	if t := (&timestamppb.Timestamp{Seconds: seconds}); t.IsValid() {
		return t
	}
	return nil
}
