package chat

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// call reads a piece of a tool call.
func (l *choiceDecoder) call(d decoder, c *toolCall) {
	st := l.queue.call(c)
	switch {
	case st == nil && c.Type != "" && c.Type != "function" && c.Type != "custom":
		p := opaquePart(c.Type, c.verbatim.of(d.body))
		p.NativeFields = []*genwayv1.NativeField{mark(toolCallsName)}
		l.calls = true
		l.push(kindWhole, p, true)
		return
	case st == nil:
		l.calls = true
		call := &genwayv1.ToolCall{Id: c.ID}
		if c.kind() == "custom" {
			call.Input = new(string)
		}
		st = l.push(kindCall, &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: call}}, false)
		st.key = int32(len(l.closed) + len(l.list) - 1)
		if c.Index != nil {
			st.key = *c.Index
		}
	}
	var name, piece string
	var fields []*genwayv1.NativeField
	if c.Function != nil {
		name, piece = c.Function.Name, c.Function.Arguments.spelled()
		fields = member.NativesUnder(protocol, "function.", c.Function.Extra)
	}
	if custom := st.opening.GetToolCall().Input != nil; custom && c.Custom != nil {
		name, piece = c.Custom.Name, c.Custom.Input.spelled()
		fields = member.NativesUnder(protocol, "custom.", c.Custom.Extra)
	}
	seal, rest := decodeExtraContent(c.ExtraContent)
	fields = append(append(fields, rest...), natives(c.Extra)...)
	if st.opening.GetToolCall().Id == "" && !st.open {
		st.opening.GetToolCall().Id = c.ID
	}
	if seal != nil && !st.open {
		st.opening.ThoughtSignature, seal = seal, nil
	}
	l.piece(st, name, piece, fields)
	if seal != nil && !slices.Contains(l.closed, st) {
		l.add(st, codec.ThoughtSignatureDelta(seal))
	}
}

// functionKey is the key of the deprecated function_call, which has no index.
const functionKey = -1

// function reads a piece of it.
func (l *choiceDecoder) function(f *functionCall) {
	if f == nil || f.Name == "" && f.Arguments.spelled() == "" {
		return
	}
	st := l.last(kindCall)
	if st == nil || st.key != functionKey {
		l.calls = true
		st = l.push(kindCall, &genwayv1.Part{
			Kind:         &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{}},
			NativeFields: []*genwayv1.NativeField{mark(functionCallName)},
		}, false)
		st.key = functionKey
	}
	l.piece(st, f.Name, f.Arguments.spelled(), member.NativesUnder(protocol, "function.", f.Extra))
}

// piece adds to a call. What comes for one that is closed, or after the end to
// one whose arguments are whole, is a repetition (T11).
func (l *choiceDecoder) piece(st *streamedPart, name, piece string, fields []*genwayv1.NativeField) {
	call := st.opening.GetToolCall()
	if slices.Contains(l.closed, st) {
		return
	}
	if name != "" && !st.ready {
		call.Name, st.ready = name, true
	}
	l.note(st, fields)
	if piece == "" || l.finished && wholeJSON(st.text.String()) {
		return
	}
	st.text.WriteString(piece)
	if call.Input != nil {
		l.add(st, codec.InputDelta(piece))
	} else {
		l.add(st, codec.ArgumentsDelta(piece))
	}
}
