package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// sendable leaves out of a turn what the upstream would refuse or cannot use:
// empty texts (case F12), and thinking that it did not sign itself (case R7).
func sendable(parts []placedPart, losses *codec.Losses) []placedPart {
	kept := parts[:0:0]
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
	w.begin()
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		w.str("type", "text")
		w.str("text", k.Text.GetText())
		if cited := verifiable(k.Text.GetCitations(), path+".text", losses); len(cited) > 0 {
			w.citations(cited, path+".text", losses)
		}
	case *genwayv1.Part_Refusal:
		w.str("type", "text")
		w.str("text", k.Refusal.GetText())
	case *genwayv1.Part_Image, *genwayv1.Part_File:
		w.media(p.Part, path, losses)
	case *genwayv1.Part_Thinking:
		w.thinkingBlock(k.Thinking)
	case *genwayv1.Part_ToolCall:
		w.str("type", "tool_use")
		w.str("id", codec.EncodeToolID(p.callID))
		w.str("name", k.ToolCall.GetName())
		if cut := w.input(k.ToolCall, path); cut != "" {
			losses.Add(path+".tool_call.arguments_json", "arguments that were cut short cannot be sent back")
		}
	case *genwayv1.Part_ToolResult:
		w.toolResult(k.ToolResult, p.callID, path+".tool_result", losses)
	default:
		w.fail(fault.Unsupported(path, "%s: the messages protocol takes text, images, documents and tools only", path))
	}
	w.cacheControl(p.CacheControl, path, losses)
	w.natives(p.NativeFields, path, losses, "source")
	w.end()
}

func (w *writer) opaque(o *genwayv1.OpaquePart, path string) {
	if o.GetProtocol() != protocol {
		w.fail(fault.Unsupported(path+".opaque", "%s is content of another vendor (%s)", path, o.GetType()))
		return
	}
	w.value(o.Json, path+".opaque")
}

// thinkingBlock writes the members of a block that is signed or encrypted by an
// upstream of this protocol.
func (w *writer) thinkingBlock(t *genwayv1.Thinking) {
	if t.GetSignature() == nil {
		w.str("type", "redacted_thinking")
		w.str("data", string(t.EncryptedContent.Value))
		return
	}
	w.str("type", "thinking")
	w.str("thinking", t.Text)
	w.str("signature", string(t.Signature.Value))
}

// input writes the input of a call, and gives the arguments when they were cut
// short (case T12): the object is then empty.
func (w *writer) input(call *genwayv1.ToolCall, path string) (cut string) {
	w.key("input")
	arguments := call.GetArgumentsJson()
	switch {
	case call.Input != nil:
		w.comma()
		w.buf = append(w.buf, codec.FreeFormArguments(*call.Input)...)
	case arguments == "":
		w.value([]byte("{}"), path)
	case jsontext.Value(arguments).Kind() != '{' || !jsontext.Value(arguments).IsValid(jsontext.AllowInvalidUTF8(true)):
		w.value([]byte("{}"), path)
		return arguments
	default:
		w.comma()
		w.buf = append(w.buf, arguments...)
	}
	return ""
}

func (w *writer) toolResult(r *genwayv1.ToolResult, id, path string, losses *codec.Losses) {
	if id == "" {
		w.fail(fault.Missing(path + ".tool_call_id"))
	}
	w.str("type", "tool_result")
	w.str("tool_use_id", codec.EncodeToolID(id))
	var parts []placedPart
	if r.ResultJson != nil {
		parts = append(parts, placedPart{Part: textPart(*r.ResultJson), path: path + ".result_json"})
	}
	for i, p := range r.GetParts() {
		parts = append(parts, placedPart{Part: p, path: member.Index(path+".parts", i)})
	}
	if parts = sendable(parts, losses); len(parts) > 0 {
		w.key("content")
		w.content(parts, losses)
	}
	if r.GetIsError() {
		w.bool("is_error", true)
	}
}
