package spell

import (
	"strings"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// markName is the member that marks an object. No protocol knows it, so that codecs keep
// it as a native field of what they make of the object, or within an opaque part.
const markName = "genway_place"

// pattern says which objects below a value are marked.
type pattern struct {
	marks    bool
	members  map[string]*pattern
	elements *pattern
}

// anyMember is the name of a pattern for members that no other pattern is for.
const anyMember = "*"

// patternOf reads paths whose indices are left out: messages[].content[].
func patternOf(paths []string) *pattern {
	root := &pattern{}
	for _, path := range paths {
		at := root
		for rest := path; rest != ""; {
			var step string
			step, rest = next(rest)
			if step[0] == '[' {
				if at.elements == nil {
					at.elements = &pattern{}
				}
				at = at.elements
				continue
			}
			if at.members == nil {
				at.members = map[string]*pattern{}
			}
			if at.members[step] == nil {
				at.members[step] = &pattern{}
			}
			at = at.members[step]
		}
		at.marks = true
	}
	return root
}

// below is the pattern of a member's value; nil for none.
func (p *pattern) below(name string) *pattern {
	if p == nil {
		return nil
	}
	if q := p.members[name]; q != nil {
		return q
	}
	return p.members[anyMember]
}

// marker writes a body again with its marks.
type marker struct {
	out     []byte
	spelled func(string) string
}

// write writes the value at a path. An object for which an array of one is meant, as
// some protocols allow, is marked as its element.
func (m *marker) write(n *node, p *pattern, path string) {
	if p == nil { // nothing is marked below
		m.out = append(m.out, n.raw...)
		return
	}
	switch n.kind {
	case '{':
		if !p.marks && p.elements != nil {
			p = p.elements
		}
		m.out = append(m.out, '{')
		for i, name := range n.names {
			if i > 0 {
				m.out = append(m.out, ',')
			}
			m.name(name)
			m.write(n.values[i], p.below(m.spelled(name)), member.Join(path, name))
		}
		if p.marks && !silent(n) {
			if len(n.names) > 0 {
				m.out = append(m.out, ',')
			}
			m.name(markName)
			m.out = member.AppendQuote(m.out, path)
		}
		m.out = append(m.out, '}')
	case '[':
		m.out = append(m.out, '[')
		for i, value := range n.values {
			if i > 0 {
				m.out = append(m.out, ',')
			}
			m.write(value, p.elements, member.Index(path, i))
		}
		m.out = append(m.out, ']')
	default:
		m.out = append(m.out, n.raw...)
	}
}

func (m *marker) name(name string) { m.out = append(member.AppendQuote(m.out, name), ':') }

// silent reports whether an object is a text that says nothing. Codecs leave those out,
// unless there is something else to them.
func silent(n *node) bool {
	text, _ := n.member("text", plain)
	return text != nil && text.isText("")
}

// markIn finds the mark among native fields: that of the object itself, and that of an
// object around it, whose members the fields hold under its name (message.genway_place).
func markIn(fields []*genwayv1.NativeField) (own, around string) {
	for _, f := range fields {
		if f.GetName() == markName {
			own = member.Raw(f.GetJson()).String()
		} else if strings.HasSuffix(f.GetName(), "."+markName) {
			around = member.Raw(f.GetJson()).String()
		}
	}
	return own, around
}

// markOf finds the mark in JSON that was kept whole: its own, or that of the only object
// in it.
func markOf(raw jsontext.Value) string {
	n := parse(raw)
	if n == nil {
		return ""
	}
	if value, _ := n.member(markName, plain); value != nil {
		return member.Raw(value.raw).String()
	}
	if len(n.values) == 1 {
		if value, _ := n.values[0].member(markName, plain); value != nil {
			return member.Raw(value.raw).String()
		}
	}
	return ""
}
