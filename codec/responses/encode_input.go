package responses

import (
	"cmp"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// inputEncoder writes the messages of a request as input items.
type inputEncoder struct {
	w      *member.Writer
	losses *codec.Losses
	// compact says that the operation is a compaction.
	compact bool
}

// roleWords is the inverse of roles; results in a tool turn are items, and what
// else stands there speaks for the user.
var roleWords = map[genwayv1.Role]string{
	genwayv1.Role_ROLE_USER:      "user",
	genwayv1.Role_ROLE_TOOL:      "user",
	genwayv1.Role_ROLE_SYSTEM:    "system",
	genwayv1.Role_ROLE_DEVELOPER: "developer",
	genwayv1.Role_ROLE_ASSISTANT: "assistant",
}

func (e *inputEncoder) message(index int, m *genwayv1.Message) error {
	if leavesOut(m) {
		return nil
	}
	path := member.Index("messages", index)
	if _, ok := roleWords[m.Role]; !ok {
		return fault.Unsupported(path+".role", "%s.role: the upstream this model is routed to does not know this role", path)
	}
	if m.Name != "" {
		e.losses.Add(path+".name", noPlace)
	}
	if m.Role == genwayv1.Role_ROLE_ASSISTANT {
		if _, err := member.Extra(protocol, foreign(m.NativeFields), path, e.losses); err != nil {
			return err
		}
		return e.assistant(index, m.Parts)
	}
	return e.given(index, m)
}

// skipped reports whether all content of a part of another protocol is in canonical fields
// as well.
func skipped(p *genwayv1.Part) bool {
	return member.Lifted(p) && p.GetOpaque().GetProtocol() != protocol
}

// leavesOut reports whether a message is nothing but such parts.
func leavesOut(m *genwayv1.Message) bool {
	return len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p *genwayv1.Part) bool { return !skipped(p) })
}

// foreign returns the fields of other protocols.
func foreign(fields []*genwayv1.NativeField) []*genwayv1.NativeField {
	var out []*genwayv1.NativeField
	for _, f := range fields {
		if f.Protocol != protocol {
			out = append(out, f)
		}
	}
	return out
}

// given writes a turn that is not the assistant's: each tool result is an item,
// what stands between them a message.
func (e *inputEncoder) given(index int, m *genwayv1.Message) error {
	path := member.Index("messages", index)
	if len(m.Parts) == 0 && m.Role != genwayv1.Role_ROLE_TOOL {
		return e.givenMessage(path, m, 0, 0)
	}
	start := 0
	for i, part := range m.Parts {
		if isTrigger(part) {
			if !e.compact { // the path says it
				e.w.Begin()
				e.w.Str("type", typeTrigger)
				e.w.End()
			}
			start = i + 1
			continue
		}
		if part.GetToolResult() == nil && (part.GetOpaque() == nil || m.Role != genwayv1.Role_ROLE_TOOL) {
			continue
		}
		if start < i {
			if err := e.givenMessage(path, m, start, i); err != nil {
				return err
			}
		}
		start = i + 1
		if skipped(part) {
			continue
		}
		if err := e.ownItem(index, i, part); err != nil {
			return err
		}
	}
	if start < len(m.Parts) {
		return e.givenMessage(path, m, start, len(m.Parts))
	}
	return nil
}

func (e *inputEncoder) givenMessage(path string, m *genwayv1.Message, start, end int) error {
	extra, err := member.Extra(protocol, m.NativeFields, path, e.losses)
	if err != nil {
		return err
	}
	e.w.Begin()
	e.w.Str("type", typeMessage)
	if start < end && !IsSyntheticID(m.Parts[start].Id) {
		e.w.StrOpt("id", m.Parts[start].Id)
	}
	e.w.Str("role", roleWords[m.Role])
	if text, ok := plainText(m.Parts[start:end]); ok {
		e.w.Str("content", text)
	} else {
		e.w.List("content")
		for i := start; i < end; i++ {
			if skipped(m.Parts[i]) {
				continue
			}
			if err := e.content(m.Parts[i], member.Index(member.Join(path, "parts"), i)); err != nil {
				return err
			}
		}
		e.w.EndList()
	}
	e.w.Spliced(extra)
	e.w.End()
	return nil
}

// ownItem writes a part that is an item by itself.
func (e *inputEncoder) ownItem(index, i int, part *genwayv1.Part) error {
	path := member.Index(member.Index("messages", index)+".parts", i)
	natives, status := without(part.NativeFields, "status")
	extra, err := member.Extra(protocol, natives, path, e.losses)
	if err != nil {
		return err
	}
	id := part.Id
	if IsSyntheticID(id) {
		id = ""
	}
	switch k := part.Kind.(type) {
	case *genwayv1.Part_ToolResult:
		return e.result(k.ToolResult, part, path, id, textIn(status), extra)
	case *genwayv1.Part_ToolCall:
		callID := k.ToolCall.Id
		e.w.Begin()
		encodeCall(e.w, k.ToolCall, spaces(nil).place(part.NativeFields, k.ToolCall.Name), id, callID, textIn(status))
	case *genwayv1.Part_Image:
		data, ok := k.Image.GetSource().(*genwayv1.Media_Data)
		if !ok {
			return fault.Unsupported(path+".image", "%s.image: the upstream this model is routed to takes drawn images by their bytes only", path)
		}
		e.w.Begin()
		encodeImageCall(e.w, k.Image, data.Data, id, cmp.Or(textIn(status), statusCompleted))
	case *genwayv1.Part_Opaque:
		if k.Opaque.Protocol != protocol {
			return unknownPart(path, k.Opaque.Type)
		}
		e.w.Value(k.Opaque.Json)
		return nil
	default:
		return unsupportedPart(path, part)
	}
	e.w.Spliced(extra)
	e.w.End()
	return nil
}

func unknownPart(path, kind string) error {
	return fault.Unsupported(path+".opaque", "%s: the upstream this model is routed to does not know content of type %q", path, kind)
}

func unsupportedPart(path string, part *genwayv1.Part) error {
	name := kindName(part)
	path = member.Join(path, name)
	return fault.Unsupported(path, "%s: the upstream this model is routed to does not take %s here", path, name)
}

// kindName is the canonical name of a part's kind.
func kindName(part *genwayv1.Part) string {
	m := part.ProtoReflect()
	if f := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind")); f != nil {
		return string(f.Name())
	}
	return "kind"
}
