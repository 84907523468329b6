package responses

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// item is one decoded item of input or output.
type item struct {
	role    genwayv1.Role
	parts   []*genwayv1.Part
	natives []*genwayv1.NativeField
	// bare is an assistant message without an id: only its message distinguishes
	// it from the next.
	bare bool
	// thought is a signature that belongs to the part behind, or when it is late to
	// the one before (see reasoning.go).
	thought *genwayv1.Seal
	late    bool
	// tools are those the item brings.
	tools []*genwayv1.Tool
}

// turns gathers items to messages: neighbouring items of the assistant are one
// message, and so are neighbouring tool results.
type turns struct {
	messages []*genwayv1.Message
	bare     bool
	// thought is the signature of the next item.
	thought *genwayv1.Seal
}

func (t *turns) add(it item) {
	last := t.last()
	if it.thought != nil {
		if n := len(last.GetParts()); !it.late {
			t.thought = it.thought
		} else if n > 0 && last.Role == genwayv1.Role_ROLE_ASSISTANT {
			last.Parts[n-1].ThoughtSignature = it.thought
		}
		return
	}
	if it.role == genwayv1.Role_ROLE_ASSISTANT && len(it.parts) > 0 && t.thought != nil {
		it.parts[0].ThoughtSignature = t.thought
	}
	t.thought = nil
	if it.role == genwayv1.Role_ROLE_ASSISTANT || it.role == genwayv1.Role_ROLE_TOOL {
		if len(it.parts) == 0 {
			return
		}
		if last.GetRole() == it.role && (!t.bare || !it.bare) {
			last.Parts = append(last.Parts, it.parts...)
			t.bare = it.bare
			return
		}
	}
	t.bare = it.bare
	t.messages = append(t.messages, &genwayv1.Message{Role: it.role, Parts: it.parts, NativeFields: it.natives})
}

func (t *turns) last() *genwayv1.Message {
	if len(t.messages) == 0 {
		return nil
	}
	return t.messages[len(t.messages)-1]
}
