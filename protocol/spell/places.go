package spell

import (
	"strings"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// place is where in the caller's body a value of the contract comes from.
type place struct {
	path string
	// around says that the path is of what the value is within.
	around bool
}

// places are those of messages, parts and tools, by their paths in the contract.
type places map[string]place

// trace finds them. marked is plain decoded from a body with marks; there are none if
// the marks have changed what was decoded.
func (n *Names) trace(plain, marked *genwayv1.GenerateTextRequest, body *node) places {
	if !alike(plain, marked) {
		return nil
	}
	found := places{}
	for i, m := range marked.GetMessages() {
		n.messagePlaces(found, member.Index("messages", i), m, body)
	}
	for i, t := range marked.GetTools() {
		mark, around := markIn(t.GetNativeFields())
		if mark == "" {
			mark = around // the deprecated functions of chat completions
		}
		if raw := t.GetHosted().GetJson(); mark == "" && raw != nil {
			mark = markOf(raw)
		}
		if mark != "" {
			found[member.Index("tools", i)] = place{path: mark}
		}
	}
	return found
}

// alike reports whether two requests have the same messages, parts and tools.
func alike(a, b *genwayv1.GenerateTextRequest) bool {
	if len(a.GetMessages()) != len(b.GetMessages()) || len(a.GetTools()) != len(b.GetTools()) {
		return false
	}
	for i, m := range a.GetMessages() {
		if m.GetRole() != b.GetMessages()[i].GetRole() || !sameParts(m.GetParts(), b.GetMessages()[i].GetParts()) {
			return false
		}
	}
	return true
}

func sameParts(a, b []*genwayv1.Part) bool {
	if len(a) != len(b) {
		return false
	}
	for i, p := range a {
		if kindOf(p) != kindOf(b[i]) || !sameParts(p.GetToolResult().GetParts(), b[i].GetToolResult().GetParts()) {
			return false
		}
	}
	return true
}

// kindOf is the name of the field that a part has its kind in.
func kindOf(p *genwayv1.Part) string {
	m := p.ProtoReflect()
	if f := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind")); f != nil {
		return string(f.Name())
	}
	return ""
}

func (n *Names) messagePlaces(found places, path string, m *genwayv1.Message, body *node) {
	own, _ := markIn(m.GetNativeFields())
	var within []string
	for j, p := range m.GetParts() {
		at := member.Within(path, ".parts", j)
		if mark := n.partPlaces(found, at, p); mark != "" {
			within = append(within, mark)
		}
	}
	if own == "" {
		own = enclosing(within)
	}
	if own == "" && m.GetRole() == genwayv1.Role_ROLE_SYSTEM {
		own, _, _ = body.follow(n.system, n.spelled)
	}
	if own == "" {
		return
	}
	found[path] = place{path: own}
	for j, p := range m.GetParts() {
		at := member.Within(path, ".parts", j)
		if _, ok := found[at]; ok {
			continue
		}
		if kind := kindOf(p); n.holder[kind] == itself {
			found[at] = place{path: own}
		} else {
			found[at] = place{path: n.held(own, kind, body), around: true}
		}
	}
}

// partPlaces notes the places of a part and of those within it, and returns its mark.
func (n *Names) partPlaces(found places, path string, p *genwayv1.Part) string {
	mark, around := markIn(p.GetNativeFields())
	if o := p.GetOpaque(); o != nil && mark == "" {
		mark = markOf(o.GetJson())
	}
	for i, inner := range p.GetToolResult().GetParts() {
		n.partPlaces(found, member.Within(path, ".tool_result.parts", i), inner)
	}
	switch {
	case mark != "":
		found[path] = place{path: mark}
	case around != "":
		mark = around
		found[path] = place{path: around, around: true}
	}
	return mark
}

// held is the member of a message's object that a part of that kind is in, where it has
// no object of its own; the message itself if that is not certain.
func (n *Names) held(message, kind string, body *node) string {
	for name := range strings.SplitSeq(n.holder[kind], "|") {
		if name == none {
			continue
		}
		if path, _, whole := body.follow(member.Join(message, name), n.spelled); whole {
			return path
		}
	}
	return message
}

// enclosing is the object of a message, by the marks of its parts: what they are all
// elements of.
func enclosing(marks []string) string {
	object := ""
	for _, mark := range marks {
		around := up(up(mark)) // the index in a list, and the list
		if around == "" || object != "" && object != around {
			return ""
		}
		object = around
	}
	return object
}
