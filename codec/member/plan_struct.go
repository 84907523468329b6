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
	ok := r.each(func(name span) bool {
		text := r.b[name.from:name.to]
		if i := l.find(text); i >= 0 {
			f := &l.fields[i]
			if seen&(1<<i) != 0 {
				return false
			}
			seen |= 1 << i
			return f.step(r, v.Field(f.index))
		}
		if !opened {
			opened, others = true, r.names.open()
		}
		if !r.names.add(r.b, &others, name) {
			return false
		}
		value, ok := r.Value()
		if !ok || l.rest < 0 {
			return ok
		}
		if rest == nil {
			rest = at[jsontext.Value](v.Field(l.rest))
		}
		return value.Extra(rest, text)
	})
	if ok && opened {
		r.names.close(others)
	}
	return ok
}

// members tells take of each member of an object. take reads its value.
func (r *Reader) members(take func(name []byte) bool) bool {
	seen := r.names.open()
	ok := r.each(func(name span) bool {
		return r.names.add(r.b, &seen, name) && take(r.b[name.from:name.to])
	})
	if ok {
		r.names.close(seen)
	}
	return ok
}

// each is members without a look at the names.
func (r *Reader) each(take func(name span) bool) bool {
	if r.Kind() != '{' || r.depth >= maxScanDepth {
		return false
	}
	r.depth++
	i := space(r.b, r.i+1)
	if i < len(r.b) && r.b[i] == '}' {
		r.i = i + 1
		r.depth--
		return true
	}
	for {
		name, end, ok := scanName(r.b, i)
		if !ok {
			return false
		}
		r.before = end
		if i = space(r.b, end); i >= len(r.b) || r.b[i] != ':' {
			return false
		}
		r.i = space(r.b, i+1)
		if !take(name) {
			return false
		}
		i = space(r.b, r.i)
		switch {
		case i >= len(r.b):
			return false
		case r.b[i] == '}':
			r.i = i + 1
			r.depth--
			return true
		case r.b[i] != ',':
			return false
		}
		i = space(r.b, i+1)
	}
}
