package member

import (
	"bytes"

	"github.com/genway/genway/codec/fault"
	"github.com/go-json-experiment/json/jsontext"
)

// Member is one member of a JSON object. A nil Value removes it.
type Member struct {
	Name  string
	Value jsontext.Value
}

// Patch returns body, a JSON object, with the given top-level members set. Members
// that exist are replaced in their place, others are appended; every other byte
// is copied. The values are not checked. What the caller does not know to be JSON is to
// be scanned or decoded first. The result may be body itself.
func Patch(body []byte, members ...Member) ([]byte, error) {
	if len(members) == 1 {
		if out, ok := set(body, members[0]); ok {
			return out, nil
		}
	}
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowInvalidUTF8(true))
	tok, err := d.ReadToken()
	if err != nil || tok.Kind() != '{' {
		return nil, fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "the body is not a JSON object")
	}
	out := make([]byte, 0, len(body)+64)
	done := make([]bool, len(members))
	copied := d.InputOffset()
	out = append(out, body[:copied]...)
	kept := 0
	for d.PeekKind() == '"' {
		before := d.InputOffset() // ahead of the comma, if there is one
		name, err := d.ReadToken()
		if err != nil {
			return nil, decodeFault(body, err)
		}
		at := indexOf(members, name.String())
		value, err := d.ReadValue()
		if err != nil {
			return nil, decodeFault(body, err)
		}
		end := d.InputOffset()
		if at >= 0 && members[at].Value == nil {
			out = append(out, body[copied:before]...)
			copied = end
			continue
		}
		if kept == 0 && copied == before && copied > 0 {
			// Everything ahead of this member was removed, its comma goes too.
			copied = skipComma(body, before)
		}
		kept++
		if at >= 0 {
			done[at] = true
			out = append(out, body[copied:end-int64(len(value))]...)
			out = append(out, members[at].Value...)
			copied = end
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, decodeFault(body, err)
	}
	closing := d.InputOffset() - 1
	out = append(out, body[copied:closing]...)
	for i, m := range members {
		if done[i] || m.Value == nil {
			continue
		}
		if kept > 0 {
			out = append(out, ',')
		}
		kept++
		if out, err = jsontext.AppendQuote(out, m.Name); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
		}
		out = append(append(out, ':'), m.Value...)
	}
	return append(out, body[closing:]...), nil
}

func skipComma(body []byte, at int64) int64 {
	rest := body[at:]
	if trimmed := bytes.TrimLeft(rest, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == ',' {
		return at + int64(len(rest)-len(trimmed)) + 1
	}
	return at
}

func indexOf(members []Member, name string) int {
	for i, m := range members {
		if m.Name == name {
			return i
		}
	}
	return -1
}

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

// maxEditDepth is how deep Edit looks, which reads each value once more at each depth: what callers nest costs no more.
const maxEditDepth = 16

// Edit returns body, a text that is known to be JSON, with what visit changes of its values, the outer
// ones first, up to maxEditDepth. Every other byte is copied. The result is body itself where nothing is
// changed, and where it is no JSON.
func Edit(body []byte, visit Visit) []byte {
	e := editor{body: body, visit: visit}
	begin := space(body, 0)
	if end := skipValue(body, begin); end < 0 || !e.inside(begin, end, 1) || e.out == nil {
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

// inside edits the members or elements of the value between two places. It returns false where they are no JSON.
func (e *editor) inside(i, end, depth int) bool {
	b := e.body
	if i == end || b[i] != '{' && b[i] != '[' || depth > maxEditDepth {
		return true
	}
	named, closing := b[i] == '{', b[i]+2 // ] is two behind [, as } behind {
	kept := -1                            // the end of the last value that is kept
	for at := space(b, i+1); at < end && b[at] != closing; {
		begin, value := at, at
		var name []byte
		if named {
			if b[at] != '"' {
				return false
			}
			after := skipString(b, at)
			if after < 0 {
				return false
			}
			name = b[at+1 : after-1]
			if value = space(b, after); value >= end || b[value] != ':' {
				return false
			}
			value = space(b, value+1)
		}
		after := skipValue(b, value)
		if after <= value {
			return false
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
			if !e.inside(value, after, depth+1) {
				return false
			}
			kept = after
		}
		at = next
	}
	return true
}

// Merge sets the members of extra, the text of a JSON object, on the top level of body. It
// refuses those that are reserved; of an object with reserved members it adds the others to
// the object that body has. Empty text changes nothing; param names extra in errors.
func Merge(body []byte, extra, param string, reserved *Reserved) ([]byte, error) {
	if extra == "" {
		return body, nil
	}
	members, err := membersOf([]byte(extra))
	if err != nil || !Valid([]byte(extra)) {
		return nil, fault.Invalid(param, "%s: expected the text of a JSON object", param)
	}
	for _, m := range members {
		if own, ok := reserved.members[folded(m.Name)]; ok {
			if err := own.check(m.Value, Join(param, m.Name)); err != nil {
				return nil, err
			}
		}
	}
	return reserved.merge(body, members)
}

// merge sets members that were checked.
func (r *Reserved) merge(body []byte, members []Member) ([]byte, error) {
	for i, m := range members {
		own, ok := r.members[folded(m.Name)]
		if !ok {
			continue
		}
		object := Value(body, own.name)
		if len(object) == 0 {
			object = []byte("{}")
		}
		inner, err := membersOf(m.Value)
		if err != nil {
			return nil, err
		}
		merged, err := own.inside.merge(object, inner)
		if err != nil {
			return nil, err
		}
		members[i] = Member{Name: own.name, Value: merged}
	}
	return Patch(body, members...)
}
