package chat

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

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
	input := c.Input.spelled()
	return &genwayv1.Part{
		Kind:         &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Name: c.Name, Input: &input}},
		NativeFields: member.NativesUnder(protocol, "custom.", c.Extra),
	}
}
