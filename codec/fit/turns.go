package fit

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Turns returns the request with a conversation in which each call has one result, in the turn right after it, and each
// result has its call: vendors refuse all else. Results that were further on move there. A result without its call, and a
// further one of the same call, go as their text; a call without a result gets one that says so. Each of these is named
// in losses. Identifiers of calls that are too long or not unique become others, of calls and results alike: the same
// for the same one, so that a prompt begins as the one of the turn before it did.
//
// Conversations that an upstream knows the beginning of stay as they are.
func Turns(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	if slices.ContainsFunc(req.GetNativeFields(), continues) {
		return req
	}
	t := turning{rules: rules, losses: losses, messages: codec.Pair(req.GetMessages(), nil)}
	if t.fits() {
		return req
	}
	t.used = map[string]bool{}
	for i := 0; i < len(t.messages); {
		i = t.step(i)
	}
	losses.Moved(t.from)
	out := codec.Shared(req)
	out.Messages = t.out
	return out
}

// asked returns the request with a turn of the user's: where a vendor demands one and there is system text alone, the last
// of it is that turn, as it is at vendors that answer system text.
func asked(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	last := len(req.GetMessages()) - 1
	if !rules.NeedsTurn || last < 0 || slices.ContainsFunc(req.GetMessages(), func(m *genwayv1.Message) bool {
		return m.GetRole() != genwayv1.Role_ROLE_SYSTEM && m.GetRole() != genwayv1.Role_ROLE_DEVELOPER
	}) {
		return req
	}
	losses.Add(member.Index("messages", last)+".role", "the vendor answers no system text alone, so that it is sent as the user's")
	turn := codec.Shared(req.GetMessages()[last])
	turn.Role, turn.NativeRole = genwayv1.Role_ROLE_USER, ""
	out := codec.Shared(req)
	out.Messages = slices.Clone(req.GetMessages())
	out.Messages[last] = turn
	return out
}

// continues reports whether a field names a conversation that the upstream has stored.
func continues(f *genwayv1.NativeField) bool {
	return f.GetName() == "previous_response_id" || f.GetName() == "conversation"
}

// turning is one pass over a conversation.
type turning struct {
	rules    Rules
	losses   *codec.Losses
	messages []*genwayv1.Message
	out      []*genwayv1.Message
	from     []codec.Origin // of out
	// used are the identifiers of the calls so far, asked says that the user or a result has been.
	used  map[string]bool
	asked bool
}

// maxCompared is how many calls are compared with each other one by one.
const maxCompared = 64

// fits reports whether a conversation is as Turns makes it. It allocates nothing.
func (t *turning) fits() bool {
	calls, asked := 0, false
	for i := 0; i < len(t.messages); i++ {
		m := t.messages[i]
		if m.GetRole() != genwayv1.Role_ROLE_ASSISTANT {
			if slices.ContainsFunc(m.GetParts(), isResult) {
				return false // behind no call
			}
			asked = asked || gathers(m)
			continue
		}
		more := i+1 < len(t.messages) && t.messages[i+1].GetRole() == genwayv1.Role_ROLE_ASSISTANT
		if more && t.rules.JoinsTurns || !more && t.rules.SealsReasoning && dangling(m.GetParts()) < len(m.GetParts()) {
			return false
		}
		own := 0
		for _, p := range m.GetParts() {
			if call := p.GetToolCall(); call != nil {
				if t.longID(call.GetId()) || i+1 >= len(t.messages) || !answers(t.messages[i+1], own, call.GetId()) {
					return false
				}
				own++
			}
		}
		if calls += own; calls > maxCompared || own > 0 && t.rules.JoinsTurns && !asked {
			return false
		}
		if own > 0 {
			if i++; slices.ContainsFunc(t.messages[i].GetParts()[own:], isResult) {
				return false
			}
			asked = true
		}
	}
	return calls < 2 || !t.repeats()
}

// repeats reports whether two calls have one identifier.
func (t *turning) repeats() bool {
	for i, m := range t.messages {
		for j, p := range m.GetParts() {
			if call := p.GetToolCall(); call != nil && (calledIn(m.GetParts()[j+1:], call.GetId()) ||
				slices.ContainsFunc(t.messages[i+1:], func(m *genwayv1.Message) bool { return calledIn(m.GetParts(), call.GetId()) })) {
				return true
			}
		}
	}
	return false
}

func calledIn(parts []*genwayv1.Part, id string) bool {
	return slices.ContainsFunc(parts, func(p *genwayv1.Part) bool { return p.GetToolCall() != nil && p.GetToolCall().GetId() == id })
}

func isResult(p *genwayv1.Part) bool { return p.GetToolResult() != nil }

// answers reports whether a part of a message is the result of a call.
func answers(m *genwayv1.Message, at int, id string) bool {
	return gathers(m) && at < len(m.GetParts()) && isResult(m.GetParts()[at]) && m.GetParts()[at].GetToolResult().GetToolCallId() == id
}

// gathers reports whether a message can have results.
func gathers(m *genwayv1.Message) bool {
	return m.GetRole() == genwayv1.Role_ROLE_TOOL || m.GetRole() == genwayv1.Role_ROLE_USER
}

// dangling returns where reasoning begins that the vendor sealed and nothing follows.
func dangling(parts []*genwayv1.Part) int {
	from := len(parts)
	for i, p := range slices.Backward(parts) {
		switch {
		case p.GetThinking().GetEncryptedContent().GetProtocol() == genwayv1.Protocol_PROTOCOL_RESPONSES:
			from = i
		case p.GetThinking() == nil && !member.Lifted(p):
			return from
		}
	}
	return from
}

// openCall is a call that is waiting for its result.
type openCall struct {
	id, sent, name string
	result         *genwayv1.Part
	// at is the place of the call, and of its result once there is one.
	at codec.Position
}

// pathTo is the path of a part.
func pathTo(at codec.Position) string {
	return member.Within(member.Index("messages", at.Message), ".parts", at.Part)
}

// positions are the places of a message's parts, but for those that the caller of it leaves out.
func positions(message int, parts []*genwayv1.Part, leaves func(*genwayv1.Part) bool) []codec.Position {
	out := make([]codec.Position, 0, len(parts))
	for i, p := range parts {
		if leaves == nil || !leaves(p) {
			out = append(out, codec.Position{Message: message, Part: i})
		}
	}
	return out
}

// step takes the turns of the model that begin at a message, and what follows them until its next one. It returns
// where that is.
func (t *turning) step(begin int) (end int) {
	for end = begin; end < len(t.messages) && t.messages[end].GetRole() == genwayv1.Role_ROLE_ASSISTANT; end++ {
	}
	calls := t.model(begin, end)
	behind := end
	for ; end < len(t.messages) && t.messages[end].GetRole() != genwayv1.Role_ROLE_ASSISTANT; end++ {
		t.asked = t.asked || gathers(t.messages[end])
	}
	t.given(behind, end, calls)
	return end
}

// model writes turns of the model, as one where the vendor wants that, and returns their calls.
func (t *turning) model(begin, end int) (calls []*openCall) {
	if begin == end {
		return nil
	}
	var turns []*genwayv1.Message
	var from []codec.Origin
	joins, owned := t.rules.JoinsTurns, false
	for i, m := range t.messages[begin:end] {
		joins = joins || len(calls) > 0 // results follow their calls at once
		parts, changed := codec.Rewritten(m.GetParts(), func(j int, p *genwayv1.Part) *genwayv1.Part {
			call := p.GetToolCall()
			if call == nil {
				return nil
			}
			open := &openCall{id: call.GetId(), sent: t.sent(call.GetId()), name: call.GetName(), at: codec.Position{Message: begin + i, Part: j}}
			if calls = append(calls, open); open.sent == open.id {
				return nil
			}
			return codec.WithCall(p, func(call *genwayv1.ToolCall) { call.Id = open.sent })
		})
		if changed {
			m = codec.Shared(m)
			m.Parts = parts
		}
		if joins && len(turns) > 0 {
			last := len(turns) - 1
			if !owned {
				own := codec.Shared(turns[last])
				own.Parts, own.NativeFields = slices.Clip(own.Parts), slices.Clip(own.NativeFields)
				turns[last], owned = own, true
				from[last].Parts = positions(from[last].Message, own.Parts, nil)
			}
			from[last].Parts = append(from[last].Parts, positions(begin+i, m.GetParts(), nil)...)
			turns[last].Parts = append(turns[last].Parts, m.GetParts()...)
			turns[last].NativeFields = append(turns[last].NativeFields, m.GetNativeFields()...)
			continue
		}
		turns, from, owned = append(turns, m), append(from, codec.Origin{Message: begin + i}), false
	}
	if last := turns[len(turns)-1]; t.rules.SealsReasoning {
		if dangles := dangling(last.GetParts()); dangles < len(last.GetParts()) {
			last = codec.Shared(last)
			last.Parts = slices.Clone(last.Parts)
			for j := dangles; j < len(last.Parts); j++ {
				last.Parts[j] = nothing()
				at := codec.Position{Message: end - 1, Part: j}
				if places := from[len(from)-1].Parts; places != nil {
					at = places[j]
				}
				t.losses.Add(pathTo(at)+".thinking", "the vendor takes no reasoning that nothing follows")
			}
			turns[len(turns)-1] = last
		}
	}
	if len(calls) > 0 && t.rules.JoinsTurns && !t.asked { // the user's turn comes before one with calls
		t.out = append(t.out, &genwayv1.Message{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{codec.TextPart("Continue.")}})
		t.from = append(t.from, codec.Origin{Message: -1})
	}
	t.asked = t.asked || len(calls) > 0
	t.out, t.from = append(t.out, turns...), append(t.from, from...)
	return calls
}

// sent returns the identifier that a call is sent with.
func (t *turning) sent(id string) string {
	sent := id
	for n := 0; t.longID(sent) || t.used[sent]; n++ {
		sum := sha256.Sum256([]byte(strconv.Itoa(n) + "/" + id))
		sent = "call_" + hex.EncodeToString(sum[:16])
	}
	t.used[sent] = true
	return sent
}

func (t *turning) longID(id string) bool { return t.rules.CallIDs > 0 && len(id) > t.rules.CallIDs }

// given writes the messages that follow the model's, with the results of its calls first.
func (t *turning) given(begin, end int, calls []*openCall) {
	waiting := make(map[string][]*openCall, len(calls))
	for _, c := range calls {
		waiting[c.id] = append(waiting[c.id], c)
	}
	var rest []*genwayv1.Message
	var from []codec.Origin
	first := -1 // where the results go
	for i := begin; i < end; i++ {
		m := t.messages[i]
		parts, changed := codec.Rewritten(m.GetParts(), func(j int, p *genwayv1.Part) *genwayv1.Part {
			if !isResult(p) {
				return nil
			}
			return t.result(p, waiting, codec.Position{Message: i, Part: j})
		})
		if first < 0 && len(calls) > 0 && gathers(m) {
			first = len(rest)
		}
		if changed {
			m = codec.Shared(m)
			m.Parts = parts
		}
		rest, from = append(rest, m), append(from, codec.Origin{Message: i})
	}
	var results []*genwayv1.Part
	var places []codec.Position
	for _, c := range calls {
		if c.result == nil {
			c.result = codec.TextPart("")
			c.result.Kind = &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: c.sent, Name: c.name, IsError: true, Parts: []*genwayv1.Part{codec.TextPart(noResult)}}}
			t.losses.Add(pathTo(c.at)+".tool_call", "it has no result, which the vendor demands, so that one is sent which says so")
		}
		results, places = append(results, c.result), append(places, c.at)
	}
	if len(results) == 0 {
		t.out, t.from = append(t.out, rest...), append(t.from, from...)
		return
	}
	if first < 0 || rest[first].GetName() != "" || len(rest[first].GetNativeFields()) > 0 {
		if first < 0 {
			first = 0
		}
		t.out = append(append(append(t.out, rest[:first]...), &genwayv1.Message{Role: genwayv1.Role_ROLE_TOOL, Parts: results}), rest[first:]...)
		t.from = append(append(append(t.from, from[:first]...), codec.Origin{Message: places[0].Message, Parts: places}), from[first:]...)
		return
	}
	to := codec.Shared(rest[first])
	moved := func(p *genwayv1.Part) bool { return member.Lifted(p) && p.GetOpaque().GetType() == "" }
	from[first].Parts = slices.Concat(places, positions(from[first].Message, to.Parts, moved))
	kept := slices.DeleteFunc(slices.Clone(to.Parts), moved)
	to.Parts = slices.Concat(results, kept)
	rest[first] = to
	// System text in between does not separate the results from their calls.
	t.out = append(append(append(t.out, to), rest[:first]...), rest[first+1:]...)
	t.from = append(append(append(t.from, from[first]), from[:first]...), from[first+1:]...)
}

// noResult is the result of a call that has none.
const noResult = "The call has no result."

// result assigns a result to its call. A result without a call, or a further one of the same call, becomes its text.
func (t *turning) result(p *genwayv1.Part, waiting map[string][]*openCall, at codec.Position) *genwayv1.Part {
	id := p.GetToolResult().GetToolCallId()
	for _, c := range waiting[id] {
		if c.result != nil {
			continue
		}
		if c.result, c.at = p, at; c.sent != id {
			c.result = codec.WithResult(p, func(r *genwayv1.ToolResult) { r.ToolCallId = c.sent })
		}
		return nothing()
	}
	why := "it has no call before it, so that its text is sent"
	if len(waiting[id]) > 0 {
		why = "its call has a result already, so that its text is sent"
	}
	t.losses.Add(pathTo(at)+".tool_result", why)
	if text := resultText(p.GetToolResult()); strings.TrimSpace(text) != "" {
		return codec.TextPart(text)
	}
	return nothing()
}
