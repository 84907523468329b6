package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// sendable leaves out of a turn what the upstream would refuse or cannot use:
// empty texts (case F12), and thinking that it did not sign itself (case R7). What is kept
// takes the places of parts.
func sendable(parts []placedPart, losses *codec.Losses) []placedPart {
	kept := parts[:0]
	for _, p := range parts {
		if p.ThoughtSignature != nil {
			losses.Add(p.path+".thought_signature", "the signature was made by another vendor")
		}
		switch {
		case member.Lifted(p.Part):
			continue
		case p.GetText() != nil && p.GetText().GetText() == "":
			continue
		case p.GetRefusal() != nil && p.GetRefusal().GetText() == "":
			continue
		case p.GetThinking() != nil && !verified(p.GetThinking()):
			if t := p.GetThinking(); t.Text != "" || len(t.Summary) > 0 || t.Signature != nil || t.EncryptedContent != nil {
				losses.Add(p.path+".thinking", "the upstream takes only thinking that it signed itself")
			}
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

func verified(t *genwayv1.Thinking) bool {
	return t.GetSignature().GetOrigin() == protocol || t.GetEncryptedContent().GetOrigin() == protocol
}

// block writes a part of a request as a block.
func (w *writer) block(p placedPart, losses *codec.Losses) {
	path := p.path
	if o := p.GetOpaque(); o != nil {
		w.opaque(o, path)
		return
	}
	w.Begin()
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		w.Str("type", "text")
		w.Str("text", k.Text.GetText())
		if cited := verifiable(k.Text.GetCitations(), path+".text", losses); len(cited) > 0 {
			w.citations(cited, path+".text", losses)
		}
	case *genwayv1.Part_Refusal:
		w.Str("type", "text")
		w.Str("text", k.Refusal.GetText())
	case *genwayv1.Part_Image, *genwayv1.Part_File:
		w.media(p.Part, path, losses)
	case *genwayv1.Part_Thinking:
		w.thinkingBlock(k.Thinking)
	case *genwayv1.Part_ToolCall:
		w.Str("type", "tool_use")
		w.Str("id", codec.EncodeToolID(p.callID))
		w.Str("name", k.ToolCall.GetName())
		if !w.input(k.ToolCall) {
			w.ValueText(codec.TextArguments(k.ToolCall.GetArgumentsJson()))
			losses.Add(path+".tool_call.arguments_json", codec.WrappedArguments)
		}
	case *genwayv1.Part_ToolResult:
		w.toolResult(k.ToolResult, p.callID, path+".tool_result", losses)
	default:
		w.Fail(fault.Unsupported(path, "%s: the messages protocol takes text, images, documents and tools only", path))
	}
	w.cacheControl(p.CacheControl, path, losses)
	w.natives(p.NativeFields, path, losses, "source")
	w.End()
}

func (w *writer) opaque(o *genwayv1.OpaquePart, path string) {
	if o.GetProtocol() != protocol {
		w.Fail(fault.Unsupported(path+".opaque", "%s is content of another vendor (%s)", path, o.GetType()))
		return
	}
	w.value(o.Json, path+".opaque")
}

// thinkingBlock writes the members of a block that is signed or encrypted by an
// upstream of this protocol.
func (w *writer) thinkingBlock(t *genwayv1.Thinking) {
	if t.GetSignature() == nil {
		w.Str("type", "redacted_thinking")
		w.Str("data", string(t.EncryptedContent.Value))
		return
	}
	w.Str("type", "thinking")
	w.Str("thinking", t.Text)
	w.Str("signature", string(t.Signature.Value))
}

// input writes the input of a call; its name alone, and false, when the arguments are not
// one object.
func (w *writer) input(call *genwayv1.ToolCall) bool {
	w.Key("input")
	switch arguments := call.GetArgumentsJson(); {
	case call.Input != nil:
		w.ValueText(codec.FreeFormArguments(*call.Input))
	case codec.AreNone(arguments):
		w.ValueText("{}")
	case !codec.AreObject(arguments):
		return false
	default:
		w.ValueText(arguments)
	}
	return true
}

func (w *writer) toolResult(r *genwayv1.ToolResult, id, path string, losses *codec.Losses) {
	if id == "" {
		w.Fail(fault.Missing(path + ".tool_call_id"))
	}
	w.Str("type", "tool_result")
	w.Str("tool_use_id", codec.EncodeToolID(id))
	var parts []placedPart
	if r.ResultJson != nil {
		parts = append(parts, placedPart{Part: textPart(*r.ResultJson), path: path + ".result_json"})
	}
	for i, p := range r.GetParts() {
		at := member.Within(path, ".parts", i)
		if p.GetToolResult() != nil {
			at += ".tool_result"
			w.Fail(fault.Unsupported(at, "%s: a tool result cannot stand in another one", at))
			return
		}
		parts = append(parts, placedPart{Part: p, path: at})
	}
	if parts = sendable(parts, losses); len(parts) > 0 {
		w.Key("content")
		w.content(parts, losses)
	}
	if r.GetIsError() {
		w.Bool("is_error", true)
	}
}
