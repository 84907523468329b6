package chat

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// roleTool is that of results.
const roleTool = "tool"

// functionRole marks a result that came in the deprecated role of that name.
const functionRole = "function"

// nameName marks a result that names its function, in the member that only the
// deprecated role has.
const nameName = "name"

var roles = map[string]genwayv1.Role{
	"system":    genwayv1.Role_ROLE_SYSTEM,
	"developer": genwayv1.Role_ROLE_DEVELOPER,
	"user":      genwayv1.Role_ROLE_USER,
	"assistant": genwayv1.Role_ROLE_ASSISTANT,
	roleTool:    genwayv1.Role_ROLE_TOOL,
	"function":  genwayv1.Role_ROLE_TOOL,
}

// conversation reads the messages of a request in their order: what a result
// means depends on the calls before it.
type conversation struct {
	decoder
	// custom has the ids of calls of custom tools.
	custom map[string]bool
	// calls counts the deprecated function calls, which have no ids; lastCall is
	// the id made up for the last of them.
	calls    int32
	lastCall string
}

func (c *conversation) message(m *message, place member.Place) (*genwayv1.Message, error) {
	role, ok := roles[m.Role]
	switch {
	case m.Role == "":
		return nil, fault.Missing(place.Join("role"))
	case !ok:
		return nil, fault.Invalid(place.Join("role"), "%s.role: %q is not a role; expected system, developer, user, assistant, tool or function", place, m.Role)
	case role == genwayv1.Role_ROLE_ASSISTANT:
		return c.assistantTurn(m, place)
	}
	if name := assistantOnly(m); name != "" {
		return nil, fault.Invalid(place.Join(name), "%s.%s belongs to messages of the assistant", place, name)
	}
	if m.Content.is == absent || m.Content.is == isNull {
		return nil, fault.Missing(place.Join("content"))
	}
	parts, err := c.content(m.Content, place)
	if err != nil {
		return nil, err
	}
	out := &genwayv1.Message{Role: role, NativeFields: natives(m.Extra)}
	if role != genwayv1.Role_ROLE_TOOL {
		out.Name, out.Parts = m.Name, parts
		return out, nil
	}
	result, err := c.result(m, place)
	if err != nil {
		return nil, err
	}
	result.Parts = parts
	if m.Role == functionRole {
		out.NativeFields = append([]*genwayv1.NativeField{mark(functionRole)}, out.NativeFields...)
	}
	p := &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: result}}
	if m.Role != functionRole && m.Name != "" {
		// Many clients send it; the vendor does not know it.
		p.NativeFields = []*genwayv1.NativeField{mark(nameName)}
	}
	out.Parts = []*genwayv1.Part{p}
	return out, nil
}

// assistantTurn reads a turn of the assistant. Calls must have what results refer to.
func (c *conversation) assistantTurn(m *message, place member.Place) (*genwayv1.Message, error) {
	for i := range m.ToolCalls {
		if missing := m.ToolCalls[i].missing(); missing != "" {
			return nil, fault.Missing(member.Index(place.Join(toolCallsName), i) + missing)
		}
	}
	parts, fields, err := c.assistant(m, place)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		call := p.GetToolCall()
		if call == nil {
			continue
		}
		if call.Input != nil {
			if c.custom == nil {
				c.custom = map[string]bool{}
			}
			c.custom[call.Id] = true
		}
		if marked(p.NativeFields, functionCallName) {
			c.lastCall = codec.SyntheticToolID(functionCallName, 0, c.calls)
			c.calls++
			call.Id = c.lastCall
		}
	}
	return &genwayv1.Message{Role: genwayv1.Role_ROLE_ASSISTANT, Name: m.Name, Parts: parts, NativeFields: fields}, nil
}

// missing names what a call must have and has not.
func (c *toolCall) missing() string {
	switch {
	case c.ID == "":
		return ".id"
	case c.kind() == "function" && (c.Function == nil || c.Function.Name == ""):
		return ".function.name"
	case c.kind() == "custom" && (c.Custom == nil || c.Custom.Name == ""):
		return ".custom.name"
	}
	return ""
}

func (c *conversation) result(m *message, place member.Place) (*genwayv1.ToolResult, error) {
	if m.Role == functionRole {
		if m.Name == "" {
			return nil, fault.Missing(place.Join("name"))
		}
		return &genwayv1.ToolResult{ToolCallId: c.lastCall, Name: m.Name}, nil
	}
	if m.ToolCallID == "" {
		return nil, fault.Missing(place.Join("tool_call_id"))
	}
	return &genwayv1.ToolResult{ToolCallId: m.ToolCallID, Name: m.Name, Custom: c.custom[m.ToolCallID]}, nil
}

// assistantOnly names a member that another role's message cannot have.
func assistantOnly(m *message) string {
	switch {
	case len(m.ToolCalls) > 0:
		return toolCallsName
	case m.FunctionCall != nil:
		return functionCallName
	case m.Audio != nil:
		return "audio"
	case m.Refusal.is != absent && m.Refusal.is != isNull:
		return "refusal"
	}
	return ""
}
