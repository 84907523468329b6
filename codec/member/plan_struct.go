package member

import (
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// layout is how a struct is read.
type layout struct {
	fields []field
	// places are the fields by a few letters of their names, plus one.
	places [128]uint8
	// rest is the field that takes the members there is no field for; -1 for none.
	rest int
}

type field struct {
	name  string
	index int
	step  step
}

// place is where a name is looked for first. Names are told apart by their lengths and
// few of their letters well enough.
func place(name []byte) uint {
	n := len(name)
	return uint(n)*29 + uint(name[0])*5 + uint(name[n/2])*3 + uint(name[n-1])
}

// index fills places; false when there are too many fields.
func (l *layout) index() bool {
	if len(l.fields) > 64 {
		return false
	}
	for i, f := range l.fields {
		at := place([]byte(f.name))
		for l.places[at%uint(len(l.places))] != 0 {
			at++
		}
		l.places[at%uint(len(l.places))] = uint8(i + 1)
	}
	return true
}

// find gives the number of a field; -1 when there is none of that name.
func (l *layout) find(name []byte) int {
	if len(name) == 0 {
		return -1
	}
	for at := place(name); ; at++ {
		i := int(l.places[at%uint(len(l.places))]) - 1
		if i < 0 || l.fields[i].name == string(name) {
			return i
		}
	}
}

// read reads an object into a struct. Names that fields are for are no others: only the
// rest need be compared with each other.
func (l *layout) read(r *Reader, v reflect.Value) bool {
	if r.Null() {
		return true
	}
	var seen uint64
	var rest *jsontext.Value
	var others scope
	opened := false
	more, ok := r.enter('{')
	for more {
		name, ok := r.name()
		if !ok {
			return false
		}
		text := r.b[name.from:name.to]
		if i := l.find(text); i >= 0 {
			f := &l.fields[i]
			if seen&(1<<i) != 0 {
				return false
			}
			seen |= 1 << i
			ok = f.step(r, v.Field(f.index))
		} else {
			if !opened {
				opened, others = true, r.names.open()
			}
			if rest == nil && l.rest >= 0 {
				rest = at[jsontext.Value](v.Field(l.rest))
			}
			ok = r.names.add(r.b, &others, name) && r.other(text, rest)
		}
		if !ok {
			return false
		}
		if more, ok = r.after('}'); !ok {
			return false
		}
	}
	if opened {
		r.names.close(others)
	}
	return ok
}

// other reads a member there is no field for.
func (r *Reader) other(name []byte, rest *jsontext.Value) bool {
	value, ok := r.Value()
	return ok && (rest == nil || value.Extra(rest, name))
}
