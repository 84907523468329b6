package member

import (
	"bytes"
	"iter"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// skim calls visit with each top-level member of body, an object that is known to be
// JSON: it skips the values without looking into them, many times faster than a decoder.
// A visit that returns true is the last. False says that body is no such object,
// or has names with escapes, and that what visit was given is worth nothing. closing is
// where the object ends, if that has been seen.
func skim(body []byte, visit func(name, value span) bool) (closing int, ok bool) {
	i := space(body, 0)
	if i >= len(body) || body[i] != '{' {
		return 0, false
	}
	i = space(body, i+1)
	if i < len(body) && body[i] == '}' {
		return i, space(body, i+1) == len(body)
	}
	for i < len(body) && body[i] == '"' {
		end := skipString(body, i)
		name := span{i + 1, end - 1}
		i = space(body, max(end, 0))
		if end < 0 || i >= len(body) || body[i] != ':' || bytes.IndexByte(body[name.from:name.to], '\\') >= 0 {
			return 0, false
		}
		value := span{from: space(body, i+1)}
		if value.to = skipValue(body, value.from); value.to <= value.from {
			return 0, false
		}
		if visit(name, value) {
			return 0, true
		}
		i = space(body, value.to)
		if i >= len(body) {
			return 0, false
		}
		if body[i] == '}' {
			return i, space(body, i+1) == len(body)
		}
		if body[i] != ',' {
			return 0, false
		}
		i = space(body, i+1)
	}
	return 0, false
}

// skipValue returns the end of a value that is known to be JSON; -1 when it has none.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return -1
}

// skipString returns the end of the string whose quote is at i; -1 when it has none.
func skipString(b []byte, i int) int {
	i++
	for start := i; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slash := i
		for slash > start && b[slash-1] == '\\' {
			slash--
		}
		if (i-slash)%2 == 0 {
			return i + 1
		}
	}
}

// Value returns the value of a top-level member of body, an object that is known to be
// JSON; nil when there is none.
func Value(body []byte, name string) []byte {
	var found []byte
	_, ok := skim(body, func(at, value span) bool {
		if string(body[at.from:at.to]) == name {
			found = body[value.from:value.to]
		}
		return found != nil
	})
	if !ok {
		return decodedValue(body, name)
	}
	return found
}

// Elements returns the elements of list, an array that is known to be JSON; none of any other value.
func Elements(list []byte) iter.Seq2[int, jsontext.Value] {
	return func(yield func(int, jsontext.Value) bool) {
		i := space(list, 0)
		if i >= len(list) || list[i] != '[' {
			return
		}
		i = space(list, i+1)
		for n := 0; i < len(list) && list[i] != ']'; n++ {
			end := skipValue(list, i)
			if end <= i || !yield(n, list[i:end]) {
				return
			}
			if i = space(list, end); i >= len(list) || list[i] != ',' {
				return
			}
			i = space(list, i+1)
		}
	}
}

// decodedValue is Value for objects whose names have escapes.
func decodedValue(body []byte, name string) (found []byte) {
	_ = Walk(body, func(at string, value jsontext.Value) bool {
		if at == name {
			found = bytes.Clone(value)
		}
		return found == nil
	}, jsontext.AllowInvalidUTF8(true))
	return found
}

// needsEscapes reports whether a name may need escapes as JSON.
func needsEscapes(name string) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return true
		}
	}
	return false
}

// set returns body with one member set, if skim can find where it stands; the body itself
// when it says the same.
func set(body []byte, m Member) ([]byte, bool) {
	var old span
	count := 0
	closing, ok := skim(body, func(name, value span) bool {
		count++
		if string(body[name.from:name.to]) == m.Name {
			old = value
		}
		return old.to > 0
	})
	switch {
	case !ok || m.Value == nil, old.to == 0 && needsEscapes(m.Name):
		return nil, false
	case old.to == 0:
		out := make([]byte, 0, len(body)+len(m.Name)+len(m.Value)+8)
		out = append(out, body[:closing]...)
		if count > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), m.Name...), '"', ':')
		return append(append(out, m.Value...), body[closing:]...), true
	case bytes.Equal(body[old.from:old.to], m.Value):
		return body, true
	}
	out := make([]byte, 0, len(body)-(old.to-old.from)+len(m.Value))
	out = append(append(out, body[:old.from]...), m.Value...)
	return append(out, body[old.to:]...), true
}

// Descend walks through a value that is known to be JSON. It calls enter for each member of an
// object and each element of an array, at any depth and in their order, with what the call for the
// object or array returned; state is for the value itself. The value is not walked through if that
// call returns false. path is the whole path of the member or element, and name its name without
// escapes, nil for an element; both are valid during the call. value is all of a string, and begins
// any other value. Descend returns false if the value turns out not to be JSON.
func Descend[S any](body []byte, state S, enter func(path, name, value []byte, state S) (S, bool)) bool {
	d := descent[S]{body: body, enter: enter}
	end, ok := d.value(space(body, 0), state)
	return ok && space(body, end) == len(body)
}

type descent[S any] struct {
	body  []byte
	path  []byte
	enter func(path, name, value []byte, state S) (S, bool)
}

// value walks through the value at i and returns its end.
func (d *descent[S]) value(i int, state S) (int, bool) {
	if i >= len(d.body) || d.body[i] != '{' && d.body[i] != '[' {
		end := skipValue(d.body, i)
		return end, end > i
	}
	closing, outer := d.body[i]+2, len(d.path)
	if i = space(d.body, i+1); i < len(d.body) && d.body[i] == closing {
		return i + 1, true
	}
	for n := 0; i < len(d.body); n++ {
		var name []byte
		if closing == '}' {
			if name, i = d.name(i); i < 0 {
				return 0, false
			}
			if outer > 0 {
				d.path = append(d.path, '.')
			}
			d.path = append(d.path, name...)
		} else {
			d.path = append(strconv.AppendInt(append(d.path, '['), int64(n), 10), ']')
		}
		if i = d.child(i, name, state); i < 0 {
			return 0, false
		}
		d.path = d.path[:outer]
		switch i = space(d.body, i); {
		case i >= len(d.body):
			return 0, false
		case d.body[i] == closing:
			return i + 1, true
		case d.body[i] != ',':
			return 0, false
		}
		i = space(d.body, i+1)
	}
	return 0, false
}

// name returns the name of the member at i, and where its value is; -1 if there is none.
func (d *descent[S]) name(i int) ([]byte, int) {
	if d.body[i] != '"' {
		return nil, -1
	}
	end := skipString(d.body, i)
	if end < 0 {
		return nil, -1
	}
	name := d.body[i+1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name = []byte(Raw(d.body[i:end]).String())
	}
	if i = space(d.body, end); i >= len(d.body) || d.body[i] != ':' {
		return nil, -1
	}
	return name, space(d.body, i+1)
}

// child walks through the member or element whose value is at i, unless enter has it skipped, and
// returns its end; -1 if there is none.
func (d *descent[S]) child(i int, name []byte, state S) int {
	if i >= len(d.body) {
		return -1
	}
	value := d.body[i:]
	if value[0] == '"' {
		end := skipString(d.body, i)
		if end < 0 {
			return -1
		}
		value = d.body[i:end]
	}
	inner, into := d.enter(d.path, name, value, state)
	if value[0] == '"' {
		return i + len(value)
	}
	if !into {
		if end := skipValue(d.body, i); end > i {
			return end
		}
		return -1
	}
	end, ok := d.value(i, inner)
	if !ok {
		return -1
	}
	return end
}
