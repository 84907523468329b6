package chat

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// call reads a piece of a tool call.
func (cd *choiceDecoder) call(d decoder, c *toolCall) {
	st := cd.queue.call(c)
	switch {
	case st == nil && c.Type != "" && c.Type != "function" && c.Type != "custom":
		p := opaquePart(c.Type, c.verbatim.of(d.body))
		p.NativeFields = []*genwayv1.NativeField{mark(toolCallsName)}
		cd.calls = true
		cd.push(kindWhole, p, true)
		return
	case st == nil:
		cd.calls = true
		call := &genwayv1.ToolCall{Id: c.ID}
		if c.kind() == "custom" {
			call.Input = new(string)
		}
		st = cd.push(kindCall, &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: call}}, false)
		st.key = int32(len(cd.closed) + len(cd.list) - 1)
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
	cd.piece(st, name, piece, fields)
	if seal != nil && !slices.Contains(cd.closed, st) {
		cd.add(st, codec.ThoughtSignatureDelta(seal))
	}
}

// functionKey is the key of the deprecated function_call, which has no index.
const functionKey = -1

// function reads a piece of it.
func (cd *choiceDecoder) function(f *functionCall) {
	if f == nil || f.Name == "" && f.Arguments.spelled() == "" {
		return
	}
	st := cd.last(kindCall)
	if st == nil || st.key != functionKey {
		cd.calls = true
		st = cd.push(kindCall, &genwayv1.Part{
			Kind:         &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{}},
			NativeFields: []*genwayv1.NativeField{mark(functionCallName)},
		}, false)
		st.key = functionKey
	}
	cd.piece(st, f.Name, f.Arguments.spelled(), member.NativesUnder(protocol, "function.", f.Extra))
}

// piece adds to a call. What comes for one that is closed, or after the end to
// one whose arguments are whole, is a repetition (T11).
func (cd *choiceDecoder) piece(st *streamedPart, name, piece string, fields []*genwayv1.NativeField) {
	call := st.opening.GetToolCall()
	if slices.Contains(cd.closed, st) {
		return
	}
	if name != "" && !st.ready {
		call.Name, st.ready = name, true
	}
	cd.note(st, fields)
	if piece == "" || cd.finished && wholeJSON(st.text.String()) {
		return
	}
	st.text.WriteString(piece)
	if call.Input != nil {
		cd.add(st, codec.InputDelta(piece))
	} else {
		cd.add(st, codec.ArgumentsDelta(piece))
	}
}
