package member

// Change is what becomes of a value that Edit has come to.
type Change struct {
	// Drop leaves the value out, with its name or its place in the list.
	Drop bool
	// With takes the place of the value; nil keeps it, and Edit looks into it.
	With []byte
}

// Visit decides about one value. name is the name of a member, without its quotes; nil for an element of a
// list. depth is 1 for the members of the outermost object.
type Visit func(depth int, name, value []byte) Change

// Edit returns body, a text that is known to be JSON, with what visit changes of its values, the outer
// ones first. Every other byte is copied. The result is body itself where nothing is changed, and where
// it is no JSON.
func Edit(body []byte, visit Visit) []byte {
	e := editor{body: body, visit: visit}
	if end := e.inside(space(body, 0), 1); end < 0 || e.out == nil {
		return body
	}
	return append(e.out, body[e.copied:]...)
}

// editor has copied the body up to copied.
type editor struct {
	body   []byte
	visit  Visit
	out    []byte
	copied int
}

// put replaces the bytes between two places.
func (e *editor) put(from, to int, with []byte) {
	if e.out == nil {
		e.out = make([]byte, 0, len(e.body))
	}
	e.out = append(append(e.out, e.body[e.copied:from]...), with...)
	e.copied = to
}

// inside edits the members or elements of the value at i, and returns its end; -1 where it has none.
func (e *editor) inside(i, depth int) int {
	b := e.body
	end := skipValue(b, i)
	if end < 0 || b[i] != '{' && b[i] != '[' || depth > maxScanDepth {
		return end
	}
	named, closing := b[i] == '{', b[i]+2 // ] is two behind [, as } behind {
	kept := -1                            // the end of the last value that is kept
	for at := space(b, i+1); at < end && b[at] != closing; {
		begin, value := at, at
		var name []byte
		if named {
			if b[at] != '"' {
				return -1
			}
			after := skipString(b, at)
			if after < 0 {
				return -1
			}
			name = b[at+1 : after-1]
			if value = space(b, after); value >= end || b[value] != ':' {
				return -1
			}
			value = space(b, value+1)
		}
		after := skipValue(b, value)
		if after <= value {
			return -1
		}
		next := space(b, after)
		comma := next < end && b[next] == ','
		if comma {
			next = space(b, next+1)
		}
		switch change := e.visit(depth, name, b[value:after]); {
		case change.Drop && kept >= 0:
			e.put(kept, after, nil)
			kept = after
		case change.Drop && comma:
			e.put(begin, next, nil)
		case change.Drop:
			e.put(begin, after, nil)
		case change.With != nil:
			e.put(value, after, change.With)
			kept = after
		default:
			if e.inside(value, depth+1) < 0 {
				return -1
			}
			kept = after
		}
		at = next
	}
	return end
}
