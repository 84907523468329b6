package chat

import (
	"fmt"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// roleTool is the role of tool results.
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
		if codec.IsCustom(call) {
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

// functionCallName marks a call in the deprecated function_call, and a choice of
// functions by the deprecated member of that name.
const functionCallName = "function_call"

// toolCallsName marks an opaque part as an element of tool_calls.
const toolCallsName = "tool_calls"

// assistant reads a turn of the model, in a request or an answer: thinking,
// content, refusal, images, audio, calls, in this order. The members of one
// message have none, and this is the order in which models produce them. Empty
// texts are not content (F12) unless a signature rests on them (R2).
func (d decoder) assistant(m *message, place member.Place) ([]*genwayv1.Part, []*genwayv1.NativeField, error) {
	parts, fields := d.thinking(m)
	parsed, err := d.content(m.Content, place)
	if err != nil {
		return nil, nil, err
	}
	var lastText *genwayv1.Part
	var texts []*genwayv1.Text
	for _, p := range parsed {
		if empty(p) {
			continue
		}
		if t := p.GetText(); t != nil {
			lastText, texts = p, append(texts, t)
		}
		parts = append(parts, p)
	}
	seal, content := decodeExtraContent(m.ExtraContent)
	citations := d.citations(m.Annotations)
	if (seal != nil || len(citations) > 0) && lastText == nil {
		lastText = textPart("")
		texts = append(texts, lastText.GetText())
		parts = append(parts, lastText)
	}
	if seal != nil {
		lastText.ThoughtSignature = seal
	}
	distribute(citations, texts)
	if m.Refusal.is != absent && m.Refusal.is != isNull {
		refusal, err := m.Refusal.str(place.Join("refusal"))
		if err != nil {
			return nil, nil, err
		}
		if refusal != "" {
			parts = append(parts, refusalPart(refusal))
		}
	}
	if len(m.Images) > 0 {
		images, err := d.parts(m.Images, place.Join("images"))
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, images...)
	}
	if m.Audio != nil && m.Audio.present() {
		p, err := m.Audio.decode(place.Join("audio"))
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, p)
	}
	for i := range m.ToolCalls {
		p, missing := d.toolCall(&m.ToolCalls[i])
		if p == nil {
			return nil, nil, fault.Missing(member.Index(place.Join(toolCallsName), i) + "." + missing)
		}
		parts = append(parts, p)
	}
	switch f := m.FunctionCall; {
	case f == nil:
	case f.Name != "":
		parts = append(parts, f.part(functionCallName))
	case f.Arguments.spelled() != "":
		return nil, nil, fault.Missing(place.Join(functionCallName) + ".name")
	}
	fields = append(fields, content...)
	return parts, append(fields, natives(m.Extra)...), nil
}

// empty reports whether the part is a text or a refusal that says nothing in any
// way.
func empty(p *genwayv1.Part) bool {
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Text:
		if k.Text.Text != "" {
			return false
		}
	case *genwayv1.Part_Refusal:
		if k.Refusal.Text != "" {
			return false
		}
	default:
		return false
	}
	return p.ThoughtSignature == nil && p.CacheControl == nil && len(p.NativeFields) == 0
}

// present distinguishes audio from the empty object that some gateways write for null.
func (a *audio) present() bool { return a.ID != "" || a.Data != "" || a.Transcript != "" }

// decode reads audio: whole in an answer, only its id in a request. Its time of
// expiry has no canonical field.
func (a *audio) decode(path string) (*genwayv1.Part, error) {
	m := &genwayv1.Media{Transcript: a.Transcript}
	if a.Data != "" {
		data, err := member.DecodeBase64(a.Data)
		if err != nil {
			return nil, fault.Invalid(path+".data", "%s.data is not valid base64", path)
		}
		m.Source = &genwayv1.Media_Data{Data: data}
	}
	return &genwayv1.Part{Id: a.ID, Kind: &genwayv1.Part_Audio{Audio: m}, NativeFields: a.natives()}, nil
}

func (a *audio) natives() []*genwayv1.NativeField {
	var fields []*genwayv1.NativeField
	if given(a.ExpiresAt) {
		fields = append(fields, native("expires_at", a.ExpiresAt))
	}
	return append(fields, natives(a.Extra)...)
}

// toolCall reads a call. A call of an unknown type is kept whole. There is none of a call
// that has no member for its type, which is named then.
func (d decoder) toolCall(c *toolCall) (p *genwayv1.Part, missing string) {
	kind := c.kind()
	switch {
	case kind == "function" && c.Function != nil:
		p = c.Function.part("")
	case kind == "custom" && c.Custom != nil:
		p = c.Custom.part()
	case kind == "function" || kind == "custom":
		return nil, kind
	default:
		p = opaquePart(kind, c.verbatim.of(d.body))
		p.NativeFields = []*genwayv1.NativeField{mark(toolCallsName)}
		return p, ""
	}
	if c.named() == "" {
		return nil, kind + ".name"
	}
	p.GetToolCall().Id = c.ID
	seal, content := decodeExtraContent(c.ExtraContent)
	p.ThoughtSignature = seal
	p.NativeFields = append(p.NativeFields, content...)
	p.NativeFields = append(p.NativeFields, natives(c.Extra)...)
	return p, ""
}

// kind is the call's type; engines that leave it out mean a function.
func (c *toolCall) kind() string {
	if c.Type == "" && c.Custom != nil && c.Function == nil {
		return "custom"
	}
	if c.Type == "" {
		return "function"
	}
	return c.Type
}

// named is the name that the call has.
func (c *toolCall) named() string {
	if c.kind() == "custom" && c.Custom != nil {
		return c.Custom.Name
	}
	if c.Function != nil {
		return c.Function.Name
	}
	return ""
}

// part is the call with its arguments; none are the empty object (T10).
func (f *functionCall) part(marks string) *genwayv1.Part {
	arguments := f.Arguments.spelled()
	if arguments == "" {
		arguments = "{}"
	}
	p := codec.CallPart(f.Name, arguments)
	if marks != "" {
		p.NativeFields = append(p.NativeFields, mark(marks))
	}
	p.NativeFields = append(p.NativeFields, member.NativesUnder(protocol, "function.", f.Extra)...)
	return p
}

func (c *customCall) part() *genwayv1.Part {
	return &genwayv1.Part{
		Kind:         &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Name: c.Name, Arguments: &genwayv1.ToolCall_Input{Input: c.Input.spelled()}}},
		NativeFields: member.NativesUnder(protocol, "custom.", c.Extra),
	}
}

// result writes a tool result as a message. Its content is text only
// (ChatCompletionToolMessageParam): media goes into the user's message behind
// the results, and the result's text says so.
func (t *turns) result(p *genwayv1.Part, m *genwayv1.Message, path string) (message, error) {
	r := p.GetToolResult()
	out := message{Role: roleTool, ToolCallID: r.ToolCallId}
	if marked(m.NativeFields, functionRole) {
		out.Role, out.Name, out.ToolCallID = functionRole, r.Name, ""
	} else if r.ToolCallId == "" {
		return message{}, fault.Invalid(path+".tool_result.tool_call_id", "%s.tool_result.tool_call_id is empty; chat completions links results by it", path)
	}
	if marked(p.NativeFields, nameName) {
		out.Name = r.Name
	} else if r.Name != "" && out.Name == "" && t.called[r.ToolCallId] != r.Name {
		// The call says the same.
		t.losses.Add(path+".tool_result.name", "chat completions names the function in its call only")
	}
	if r.IsError {
		t.losses.Add(path+".tool_result.is_error", "chat completions has no flag for failed calls; the text is kept")
	}
	if p.CacheControl != nil {
		t.losses.Add(path+".cache_control", "messages of tools have no cache breakpoints in chat completions")
	}
	// Fields of this protocol are the message's, so that extra can only note others.
	if _, err := extra(p.NativeFields, path, t.losses, nameName); err != nil {
		return message{}, err
	}
	var parts []part
	if r.ResultJson != nil {
		parts = append(parts, part{Type: "text", Text: r.ResultJson})
	}
	moved := 0
	for i, inside := range r.Parts {
		if member.Lifted(inside) {
			continue
		}
		at := member.Within(path, ".tool_result.parts", i)
		written, err := t.part(inside, at)
		if err != nil {
			return message{}, err
		}
		if written.Type == "text" || written.verbatim.raw != nil {
			parts = append(parts, written)
			continue
		}
		moved++
		kind := written.mediaWord()
		here := fmt.Sprintf("[%s %d of tool result follows]", kind, moved)
		there := fmt.Sprintf("[%s %d of tool result %s]", kind, moved, r.ToolCallId)
		parts = append(parts, part{Type: "text", Text: &here})
		t.waiting = append(t.waiting, part{Type: "text", Text: &there}, written)
	}
	out.Content = t.contentOf(parts, "\n")
	if len(parts) == 0 {
		out.Content = content{is: isText}
	}
	return out, nil
}

func (p *part) mediaWord() string {
	switch p.Type {
	case "image_url":
		return "image"
	case "video_url":
		return "video"
	case "input_audio", "audio_url":
		return "audio"
	}
	return "file"
}
