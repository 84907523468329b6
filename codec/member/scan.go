package member

import "bytes"

// The scanner here checks JSON (RFC 8259) at the speed of a copy, for bodies that are
// passed on and not looked into: megabytes of base64 cost as little as they can. It is
// stricter than the decoder, which takes more (invalid UTF-8, names with escapes): what
// it does not take is not wrong, but the decoder's to judge.

// maxScanDepth bounds the scanner's recursion.
const maxScanDepth = 200

// scanner walks over a body once. Whatever there is to be known of it but its members
// is found on the way.
type scanner struct {
	b []byte
	// look gathers statistics of the values that are strings; nil gathers none.
	look       *Look
	statistics Statistics
	// signs are those of the string that was the last value.
	signs Signs
	// elements are those of the array that ended last.
	elements int
	// names are those of the objects that are open.
	names names
}

// value returns the end of the value that begins at i; false when the scanner does not
// take it.
func (s *scanner) value(i, depth int) (int, bool) {
	if i >= len(s.b) {
		return 0, false
	}
	switch c := s.b[i]; {
	case c == '"':
		end, ok := String(s.b, i)
		if ok && s.look != nil {
			s.signs = s.statistics.note(s.b[i+1:end-1], s.look)
		}
		return end, ok
	case c == '{':
		return s.object(i, depth, nil)
	case c == '[':
		return s.array(i, depth)
	case c == '-' || c-'0' <= 9:
		return number(s.b, i)
	case c == 't':
		return word(s.b, i, "true")
	case c == 'f':
		return word(s.b, i, "false")
	case c == 'n':
		return word(s.b, i, "null")
	}
	return 0, false
}

func (s *scanner) array(i, depth int) (int, bool) {
	if depth >= maxScanDepth {
		return 0, false
	}
	i = space(s.b, i+1)
	if i < len(s.b) && s.b[i] == ']' {
		s.elements = 0
		return i + 1, true
	}
	for n := 1; ; n++ {
		var ok bool
		if i, ok = s.value(i, depth+1); !ok {
			return 0, false
		}
		i = space(s.b, i)
		switch {
		case i >= len(s.b):
			return 0, false
		case s.b[i] == ']':
			s.elements = n
			return i + 1, true
		case s.b[i] != ',':
			return 0, false
		}
		i = space(s.b, i+1)
	}
}

// object scans an object whose names are all different, and adds its members to o,
// unless that is nil.
func (s *scanner) object(i, depth int, o *TopIndex) (int, bool) {
	if depth >= maxScanDepth {
		return 0, false
	}
	i = space(s.b, i+1)
	if i < len(s.b) && s.b[i] == '}' {
		return i + 1, true
	}
	seen := s.names.open()
	var result, named bool
	for {
		name, end, ok := scanName(s.b, i)
		if !ok || !s.names.add(s.b, &seen, name) {
			return 0, false
		}
		i = space(s.b, end)
		if i >= len(s.b) || s.b[i] != ':' {
			return 0, false
		}
		value := span{from: space(s.b, i+1)}
		if value.to, ok = s.value(value.from, depth+1); !ok {
			return 0, false
		}
		if o != nil {
			o.add(name, value, s.elements)
		}
		if s.look != nil && s.b[value.from] == '"' {
			result = result || s.signs&Result != 0 && string(s.b[name.from:name.to]) == s.look.Kind
			named = named || value.to-value.from > 2 && string(s.b[name.from:name.to]) == s.look.ID
		}
		i = space(s.b, value.to)
		switch {
		case i >= len(s.b):
			return 0, false
		case s.b[i] == '}':
			s.names.close(seen)
			if result && !named {
				s.statistics.Signs |= Result
			}
			return i + 1, true
		case s.b[i] != ',':
			return 0, false
		}
		i = space(s.b, i+1)
	}
}

// span is a range of the body.
type span struct{ from, to int }

// scanName returns a member's name, without its quotes, and the end of it. Names with
// escapes are not taken: they could be duplicates in disguise.
func scanName(b []byte, i int) (span, int, bool) {
	if i >= len(b) || b[i] != '"' {
		return span{}, 0, false
	}
	end, ok := String(b, i)
	if !ok || bytes.IndexByte(b[i:end], '\\') >= 0 {
		return span{}, 0, false
	}
	return span{i + 1, end - 1}, end, true
}

func word(b []byte, i int, word string) (int, bool) {
	end := i + len(word)
	return end, end <= len(b) && string(b[i:end]) == word
}

func number(b []byte, i int) (int, bool) {
	if b[i] == '-' {
		i++
	}
	start := i
	i = digits(b, i)
	if i == start || b[start] == '0' && i > start+1 {
		return 0, false
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = digits(b, start); i == start {
			return 0, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = digits(b, start); i == start {
			return 0, false
		}
	}
	return i, true
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

func space(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}
