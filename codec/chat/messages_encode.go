package chat

import (
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// turns gathers the messages of a request. Tool results must follow the calls
// they answer directly, so that what users say between them waits until the last
// result (T17).
type turns struct {
	*encoder
	list []message
	// waiting are parts for a message of the user behind the results.
	waiting []part
	// results says that the last message is a result.
	results bool
	// called are the functions' names by the calls' ids.
	called map[string]string
}

// messages writes the conversation. Results stand in messages of their own here,
// whether they came in a turn of the tool or of the user.
func (e *encoder) messages(list []*genwayv1.Message) ([]message, error) {
	size := len(list)
	for _, m := range list {
		size += furtherResults(m)
	}
	t := &turns{encoder: e, list: make([]message, 0, size), called: map[string]string{}}
	for i, m := range list {
		if member.AllLifted(m) {
			continue
		}
		if err := t.message(m, member.Index("messages", i)); err != nil {
			return nil, err
		}
	}
	t.release()
	return t.list, nil
}

// furtherResults counts the results behind the first one in a message. Each is a message of its own here,
// and a list of very many is not to be moved as it grows.
func furtherResults(m *genwayv1.Message) int {
	n := -1
	for _, p := range m.Parts {
		if p.GetToolResult() != nil {
			n++
		}
	}
	return max(n, 0)
}

func (t *turns) message(m *genwayv1.Message, path string) error {
	for i, p := range m.Parts {
		if p.ThoughtSignature != nil || p.GetThinking() != nil {
			t.tellSeals(p, member.Within(path, ".parts", i))
		}
	}
	switch m.Role {
	case genwayv1.Role_ROLE_SYSTEM:
		return t.plain("system", m, path)
	case genwayv1.Role_ROLE_DEVELOPER:
		if !t.dialect.Takes("messages.developer") {
			return t.plain("system", m, path) // which says the same
		}
		return t.plain("developer", m, path)
	case genwayv1.Role_ROLE_USER, genwayv1.Role_ROLE_TOOL:
		return t.user(m, path)
	case genwayv1.Role_ROLE_ASSISTANT:
		t.release()
		out, err := t.assistant(m.Parts, m.NativeFields, path)
		if err != nil {
			return err
		}
		for _, p := range m.Parts {
			if call := p.GetToolCall(); call != nil {
				t.called[call.Id] = call.Name
			}
		}
		out.Role, out.Name = "assistant", t.name(m, path)
		out.Extra, err = extra(m.NativeFields, path, t.losses, out.reserved()...)
		if t.dialect != nil && out.saysNothing() {
			return err // its parts are noted as lost
		}
		t.list = append(t.list, out)
		return err
	case genwayv1.Role_ROLE_UNSPECIFIED:
	}
	return fault.Unsupported(path+".role", "%s.role: %q has no place in chat completions", path, m.NativeRole)
}

// saysNothing reports whether there is neither content nor a call in a message of the model:
// vendors refuse such a one.
func (m *message) saysNothing() bool {
	return m.Content.is == isText && m.Content.s == "" && m.Refusal.IsZero() && m.ReasoningContent.IsZero() && m.Reasoning.IsZero() &&
		m.ReasoningDetails == nil && m.ToolCalls == nil && m.FunctionCall == nil && m.Audio == nil && m.Images == nil
}

// release writes what waited for the last result.
func (t *turns) release() {
	if len(t.waiting) > 0 {
		t.list = append(t.list, message{Role: "user", Content: t.contentOf(t.waiting, "\n")})
	}
	t.waiting, t.results = nil, false
}

func (t *turns) plain(role string, m *genwayv1.Message, path string) error {
	t.release()
	parts := make([]part, 0, len(m.Parts))
	for i, p := range m.Parts {
		if member.Lifted(p) {
			continue
		}
		out, err := t.part(p, member.Within(path, ".parts", i))
		if err != nil {
			return err
		}
		parts = append(parts, out)
	}
	return t.add(role, m, parts, path)
}

func (t *turns) add(role string, m *genwayv1.Message, parts []part, path string) (err error) {
	out := message{Role: role, Name: t.name(m, path), Content: t.contentOf(parts, "\n")}
	if len(parts) == 0 {
		out.Content = content{is: isText}
	}
	out.Extra, err = extra(m.NativeFields, path, t.losses)
	t.list = append(t.list, out)
	return err
}

// user writes a turn of the user or of tools: first the results in it, then the
// rest.
func (t *turns) user(m *genwayv1.Message, path string) error {
	var parts []part
	results := 0
	for i, p := range m.Parts {
		at := member.Within(path, ".parts", i)
		result := p.GetToolResult()
		if member.Lifted(p) {
			continue
		}
		if result == nil {
			out, err := t.part(p, at)
			if err != nil {
				return err
			}
			parts = append(parts, out)
			continue
		}
		out, err := t.result(p, m, at)
		if err != nil {
			return err
		}
		if results == 0 {
			if out.Extra, err = extra(m.NativeFields, path, t.losses, functionRole); err != nil {
				return err
			}
		}
		results++
		t.list = append(t.list, out)
		t.results = true
	}
	switch {
	case results == 0 && !t.results:
		return t.add("user", m, parts, path)
	case results > 0:
		if m.Name != "" {
			t.losses.Add(path+".name", "messages of tools have no participant in chat completions")
		}
		t.waiting = append(t.waiting, parts...)
	default:
		t.release()
		return t.add("user", m, parts, path)
	}
	return nil
}
