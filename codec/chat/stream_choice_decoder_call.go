package chat

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// call reads a piece of a tool call. before is the call that the same delta has a piece of ahead
// of it; the result is the one that it is of.
func (cd *choiceDecoder) call(d decoder, c *toolCall, before *streamedPart) *streamedPart {
	st := cd.queue.call(c)
	if st != nil && st == before && c.Index == nil && c.ID == "" && c.named() != "" {
		st = nil // a delta has one piece of a call
	}
	switch {
	case st == nil && c.Type != "" && c.Type != "function" && c.Type != "custom":
		p := opaquePart(c.Type, c.verbatim.of(d.body))
		p.NativeFields = []*genwayv1.NativeField{mark(toolCallsName)}
		cd.calls = true
		cd.push(kindWhole, p, true)
		return nil
	case st == nil:
		cd.calls = true
		call := &genwayv1.ToolCall{Id: c.ID}
		if c.kind() == "custom" {
			call.Input = new(string)
		}
		st = cd.push(kindCall, &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: call}}, false)
		st.key = int32(len(cd.closed) + len(cd.list) - 1)
		if c.Index != nil {
			st.key = c.number()
		}
	}
	call := st.opening.GetToolCall()
	if c.Custom != nil && c.Function == nil && call.Input == nil && !st.open && st.text.Len() == 0 {
		call.Input = new(string)
	}
	st.defined = st.defined || c.Function != nil || c.Custom != nil
	var name, piece string
	var fields []*genwayv1.NativeField
	if c.Function != nil {
		name, piece = c.Function.Name, c.Function.Arguments.spelled()
		fields = member.NativesUnder(protocol, "function.", c.Function.Extra)
	}
	if call.Input != nil && c.Custom != nil {
		name, piece = c.Custom.Name, c.Custom.Input.spelled()
		fields = member.NativesUnder(protocol, "custom.", c.Custom.Extra)
	}
	seal, rest := decodeExtraContent(c.ExtraContent)
	fields = append(append(fields, rest...), natives(c.Extra)...)
	if call.Id == "" && !st.open {
		call.Id = c.ID
	}
	if seal != nil && !st.open {
		st.opening.ThoughtSignature, seal = seal, nil
	}
	cd.piece(st, name, piece, fields)
	if seal != nil && !slices.Contains(cd.closed, st) {
		cd.add(st, codec.ThoughtSignatureDelta(seal))
	}
	return st
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
		st.key, st.defined = functionKey, true
	}
	cd.piece(st, f.Name, f.Arguments.spelled(), member.NativesUnder(protocol, "function.", f.Extra))
}

// piece adds to a call. What comes for one that is closed, or after the end to
// one whose arguments are whole, is a repetition (T11), and so are the same arguments beside the
// name once more.
func (cd *choiceDecoder) piece(st *streamedPart, name, piece string, fields []*genwayv1.NativeField) {
	call := st.opening.GetToolCall()
	if slices.Contains(cd.closed, st) {
		return
	}
	if !st.open {
		call.Name = joinName(call.Name, name)
	}
	cd.note(st, fields)
	repeated := piece == "" || (cd.finished || name != "" && piece == st.text.String()) && wholeJSON(st.text.String())
	if !repeated {
		st.text.WriteString(piece)
	}
	// What follows a name may be more of it, and the identifier of the call. A call without one
	// waits for its end.
	st.ready = st.ready || call.Name != "" && st.text.Len() > 0 && (call.Id != "" || st.key == functionKey)
	if repeated {
		return
	}
	if call.Input != nil {
		cd.add(st, codec.InputDelta(piece))
	} else {
		cd.add(st, codec.ArgumentsDelta(piece))
	}
}

// joinName adds a piece to a name. The vendor's SDK joins the pieces of a name
// (ChatCompletionAccumulator); engines also repeat the whole of it in each chunk, or what there is
// of it so far.
func joinName(name, piece string) string {
	if strings.HasPrefix(piece, name) {
		return piece
	}
	return name + piece
}
