package codec

import (
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// Pair gives the tool calls and the results of a conversation identifiers, for protocols
// that link them by those. generateContent may leave them out on either side or on both
// (NewPartFromFunctionResponse of its SDK makes none), and links by the tool's name and the
// order then. A result without an identifier answers the first call of its name that waits,
// of the latest turn with calls before any other; a call without one gets that of the
// result which answers it, else one of ours. A result that answers no call stays as it is.
// The messages themselves are not changed. skip, if not nil, says which parts have no
// identifiers for good.
func Pair(list []*genwayv1.Message, skip func(*genwayv1.Message, *genwayv1.Part) bool) []*genwayv1.Message {
	if !slices.ContainsFunc(list, lacksID) {
		return list
	}
	p := pairing{list: list, skip: skip, ids: map[[2]int]string{}}
	for i, m := range list {
		p.turn(i, m)
	}
	for _, c := range p.waiting {
		p.name(c)
	}
	return p.written()
}

// lacksID reports whether a message has a call or a result without an identifier.
func lacksID(m *genwayv1.Message) bool {
	return slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool {
		return p.GetToolCall() != nil && p.GetToolCall().GetId() == "" || p.GetToolResult() != nil && p.GetToolResult().GetToolCallId() == ""
	})
}

// pairing finds the identifiers of calls and results by their places.
type pairing struct {
	list    []*genwayv1.Message
	skip    func(*genwayv1.Message, *genwayv1.Part) bool
	ids     map[[2]int]string
	waiting []waitingCall
}

// waitingCall is a call that has no result yet.
type waitingCall struct {
	place    [2]int
	id, name string
}

func (p *pairing) turn(i int, m *genwayv1.Message) {
	for j, part := range m.GetParts() {
		if p.skip != nil && p.skip(m, part) {
			continue
		}
		if call := part.GetToolCall(); call != nil {
			p.waiting = append(p.waiting, waitingCall{[2]int{i, j}, call.GetId(), call.GetName()})
		}
		if r := part.GetToolResult(); r != nil {
			p.result([2]int{i, j}, r)
		}
	}
}

func (p *pairing) result(place [2]int, r *genwayv1.ToolResult) {
	id := r.GetToolCallId()
	at := -1
	if id != "" {
		at = slices.IndexFunc(p.waiting, func(c waitingCall) bool { return c.id == id })
	}
	if at < 0 {
		at = p.named(r.GetName(), id != "")
	}
	if at < 0 {
		return
	}
	c := p.waiting[at]
	p.waiting = slices.Delete(p.waiting, at, at+1)
	if c.id == "" {
		c.id = id
	}
	p.ids[place] = p.name(c)
}

// named finds a call of that name, of the latest turn first; with nameless it has no
// identifier of its own.
func (p *pairing) named(name string, nameless bool) int {
	found, turn := -1, -1
	for i, c := range p.waiting {
		if c.name == name && (!nameless || c.id == "") && c.place[0] > turn {
			found, turn = i, c.place[0]
		}
	}
	return found
}

// name gives the identifier of a call.
func (p *pairing) name(c waitingCall) string {
	if c.id == "" {
		c.id = SyntheticToolID("", int32(c.place[0]), int32(c.place[1]))
	}
	p.ids[c.place] = c.id
	return c.id
}

// written gives the messages with the identifiers that were found.
func (p *pairing) written() []*genwayv1.Message {
	out := slices.Clone(p.list)
	for i, m := range p.list {
		for j, part := range m.GetParts() {
			id, ok := p.ids[[2]int{i, j}]
			if !ok || id == part.GetToolCall().GetId()+part.GetToolResult().GetToolCallId() {
				continue
			}
			if out[i] == m {
				out[i] = &genwayv1.Message{Role: m.Role, Name: m.Name, NativeRole: m.NativeRole, Parts: slices.Clone(m.Parts), NativeFields: m.NativeFields}
			}
			part = proto.CloneOf(part)
			if call := part.GetToolCall(); call != nil {
				call.Id = id
			} else {
				part.GetToolResult().ToolCallId = id
			}
			out[i].Parts[j] = part
		}
	}
	return out
}
