package codec

import (
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// Pair returns the tool calls and the results of a conversation identifiers, for protocols
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
	p := pairing{list: list, skip: skip, ids: map[[2]int]string{}, byID: map[string][]int{}, byName: map[calledAs][]turnCalls{}}
	for i, m := range list {
		p.turn(i, m)
	}
	for _, c := range p.calls {
		if !c.answered {
			p.name(c)
		}
	}
	return p.written()
}

// lacksID reports whether a message has a call or a result without an identifier.
func lacksID(m *genwayv1.Message) bool {
	return slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool {
		return p.GetToolCall() != nil && p.GetToolCall().GetId() == "" || p.GetToolResult() != nil && p.GetToolResult().GetToolCallId() == ""
	})
}

// pairing finds the identifiers of calls and results by their places. Its cost grows with their
// number alone: a list of calls is only ever taken from at one end.
type pairing struct {
	list  []*genwayv1.Message
	skip  func(*genwayv1.Message, *genwayv1.Part) bool
	ids   map[[2]int]string
	calls []pairedCall
	// byID and byName have the indices of the calls that wait, and of some that are answered.
	byID   map[string][]int
	byName map[calledAs][]turnCalls
}

// pairedCall is a call; answered means that a result has been found for it.
type pairedCall struct {
	place    [2]int
	id, name string
	answered bool
}

// calledAs finds calls of a name: all, or with nameless those without an identifier.
type calledAs struct {
	name     string
	nameless bool
}

// turnCalls are calls of one turn, in their order.
type turnCalls struct {
	turn  int
	calls []int
}

func (p *pairing) turn(i int, m *genwayv1.Message) {
	for j, part := range m.GetParts() {
		if p.skip != nil && p.skip(m, part) {
			continue
		}
		if call := part.GetToolCall(); call != nil {
			p.wait(pairedCall{place: [2]int{i, j}, id: call.GetId(), name: call.GetName()})
		}
		if r := part.GetToolResult(); r != nil {
			p.result([2]int{i, j}, r)
		}
	}
}

// wait adds a call that has no result yet.
func (p *pairing) wait(c pairedCall) {
	at := len(p.calls)
	p.calls = append(p.calls, c)
	all := []calledAs{{name: c.name}}
	if c.id == "" {
		all = append(all, calledAs{c.name, true})
	} else {
		p.byID[c.id] = append(p.byID[c.id], at)
	}
	for _, as := range all {
		turns := p.byName[as]
		if last := len(turns) - 1; last >= 0 && turns[last].turn == c.place[0] {
			turns[last].calls = append(turns[last].calls, at)
			continue
		}
		p.byName[as] = append(turns, turnCalls{c.place[0], []int{at}})
	}
}

func (p *pairing) result(place [2]int, r *genwayv1.ToolResult) {
	id := r.GetToolCallId()
	at := -1
	if id != "" {
		p.byID[id], at = p.first(p.byID[id])
	}
	if at < 0 {
		at = p.named(calledAs{r.GetName(), id != ""})
	}
	if at < 0 {
		return
	}
	p.calls[at].answered = true
	c := p.calls[at]
	if c.id == "" {
		c.id = id
	}
	p.ids[place] = p.name(c)
}

// first returns the first of some calls that waits, -1 if none does, and the calls from there on.
func (p *pairing) first(calls []int) (rest []int, at int) {
	for ; len(calls) > 0; calls = calls[1:] {
		if !p.calls[calls[0]].answered {
			return calls, calls[0]
		}
	}
	return nil, -1
}

// named finds a call of that name, of the latest turn first.
func (p *pairing) named(as calledAs) (at int) {
	turns := p.byName[as]
	for at = -1; at < 0 && len(turns) > 0; {
		last := &turns[len(turns)-1]
		if last.calls, at = p.first(last.calls); at < 0 {
			turns = turns[:len(turns)-1]
		}
	}
	p.byName[as] = turns
	return at
}

// name returns the identifier of a call.
func (p *pairing) name(c pairedCall) string {
	if c.id == "" {
		c.id = SyntheticToolID("", int32(c.place[0]), int32(c.place[1]))
	}
	p.ids[c.place] = c.id
	return c.id
}

// written returns the messages with the identifiers that were found.
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
