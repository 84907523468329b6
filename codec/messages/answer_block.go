package messages

import (
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Why parts of an answer are lost.
const (
	unshown    = "answers of the messages protocol hold text, thinking and tool calls only"
	oneSeal    = "thinking has one seal in the messages protocol"
	unciteable = "the messages protocol cannot express this citation"
)

func foreignOpaque(o *genwayv1.OpaquePart) string {
	return "content of another vendor (type " + o.GetType() + ") cannot be shown in the messages protocol"
}

// answerPart is a part of an answer, its canonical path, and the wire identifier
// of its tool call.
type answerPart struct {
	*genwayv1.Part
	path   string
	callID string
}

// answerBlock writes a part of an answer as an element: one block, none for what
// says nothing or what the protocol cannot show, or two where a thought signature
// of another vendor travels ahead of a call.
func (w *writer) answerBlock(p answerPart, losses *codec.Losses) {
	empty := p.GetText() != nil && p.GetText().Text == "" && len(p.GetText().Citations) == 0 ||
		p.GetRefusal() != nil && p.GetRefusal().Text == ""
	switch {
	case p.ThoughtSignature == nil:
	case p.GetToolCall() != nil:
		w.redacted(carrierData(p.ThoughtSignature, carrierNext))
	default:
		losses.Add(p.path+".thought_signature", unsigned)
	}
	if empty {
		return
	}
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Opaque:
		if k.Opaque.GetProtocol() == protocol {
			w.value(k.Opaque.Json, p.path)
			return
		}
		losses.Add(p.path+".opaque", foreignOpaque(k.Opaque))
	case *genwayv1.Part_Thinking:
		w.answerThinking(p, k.Thinking, losses)
	case *genwayv1.Part_ToolCall:
		w.Begin()
		w.callOpening(p)
		if !w.input(k.ToolCall) {
			w.Fail(codec.BrokenArguments(k.ToolCall.GetName()))
		}
		w.natives(p.NativeFields, p.path, losses)
		w.End()
	case *genwayv1.Part_Text, *genwayv1.Part_Refusal:
		w.Begin()
		w.Str("type", "text")
		w.Str("text", p.GetText().GetText()+p.GetRefusal().GetText())
		w.citations(p.GetText().GetCitations(), p.path+".text", losses)
		w.natives(p.NativeFields, p.path, losses)
		w.End()
	default:
		losses.Add(p.path, unshown)
	}
}

// callOpening writes the members of a tool_use block that are known when it opens.
func (w *writer) callOpening(p answerPart) {
	w.Str("type", "tool_use")
	w.Str("id", p.callID)
	w.Str("name", p.GetToolCall().GetName())
	if native(p.NativeFields, "caller") == nil {
		w.Object("caller")
		w.Str("type", "direct")
		w.End()
	}
}

// answerThinking writes a thinking or a redacted_thinking block. A signature is
// never made up: without one the member is left out (case R4).
func (w *writer) answerThinking(p answerPart, t *genwayv1.Thinking, losses *codec.Losses) {
	shown, seal := codec.ThinkingText(t), t.GetSignature()
	if seal == nil {
		seal = t.GetEncryptedContent()
	} else if t.GetEncryptedContent() != nil {
		losses.Add(p.path+".thinking.encrypted_content", oneSeal)
	}
	switch {
	case shown == "" && seal == nil:
	case shown == "" && t.GetSignature() == nil:
		w.Begin()
		w.Str("type", "redacted_thinking")
		w.Str("data", codec.SealText(seal, protocol, false))
		w.natives(p.NativeFields, p.path, losses)
		w.End()
	default:
		w.Begin()
		w.Str("type", "thinking")
		w.Str("thinking", shown)
		w.StrOpt("signature", codec.SealText(seal, protocol, false))
		w.natives(p.NativeFields, p.path, losses)
		w.End()
	}
}

func (w *writer) redacted(data string) {
	w.Begin()
	w.Str("type", "redacted_thinking")
	w.Str("data", data)
	w.End()
}
