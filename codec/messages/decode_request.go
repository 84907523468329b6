package messages

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeRequest reads a body of /v1/messages. model, messages and max_tokens are
// required.
func (Codec) DecodeRequest(body []byte) (*codec.Request, error) {
	var w wireRequest
	if err := member.Decode(body, &w); err != nil {
		return nil, err
	}
	req, err := w.canonical()
	if err != nil {
		return nil, err
	}
	return w.close(req)
}

// close returns a request that generates.
func (w *wireRequest) close(req *genwayv1.GenerateTextRequest) (*codec.Request, error) {
	if w.MaxTokens == nil {
		return nil, fault.Missing("max_tokens")
	}
	if *w.MaxTokens < 1 {
		return nil, fault.Invalid("max_tokens", "max_tokens: expected at least 1")
	}
	return &codec.Request{GenerateTextRequest: req, Stream: w.Stream}, nil
}

// canonical translates all that generation and counting share.
func (w *wireRequest) canonical() (*genwayv1.GenerateTextRequest, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	req, err := w.open()
	if err != nil {
		return nil, err
	}
	for _, step := range []func(*genwayv1.GenerateTextRequest) error{w.messages, w.tools, w.thinking} {
		if err := step(req); err != nil {
			return nil, err
		}
	}
	return req, nil
}

// check holds what must be there.
func (w *wireRequest) check() error {
	if err := member.Misspelt(w.Extra, "model", "max_tokens"); err != nil {
		return err
	}
	switch {
	case w.Model == "":
		return fault.Missing("model")
	case w.Messages == nil:
		return fault.Missing("messages")
	case len(w.Messages) == 0:
		return fault.Invalid("messages", "messages: expected at least one message")
	}
	return nil
}

// open is a request with the settings that are as they are written.
func (w *wireRequest) open() (*genwayv1.GenerateTextRequest, error) {
	req := &genwayv1.GenerateTextRequest{
		Model:           w.Model,
		MaxOutputTokens: w.MaxTokens,
		CacheControl:    w.CacheControl.canonical(),
		NativeFields:    member.Natives(protocol, w.Extra, func(name string, value []byte) bool { return setting.Binds(protocol, name, value) }),
	}
	if err := w.decode(req, ""); err != nil {
		return nil, err
	}
	if w.Metadata != nil {
		req.User = w.Metadata.UserID
		req.NativeFields = append(req.NativeFields, nested("metadata", w.Metadata.Extra)...)
	}
	if thread := threadField(w.Thread); thread != nil {
		req.NativeFields = append(req.NativeFields, thread)
	}
	return req, nil
}

// threadField keeps the thread member. A request that continues a thread has only the newest turn in
// messages: the member is binding, since only the vendor has the other turns. A request that creates
// a thread has the whole conversation, so that its answer is right without the member; a request that
// continues that thread later is refused (see threadError).
func threadField(raw jsontext.Value) *genwayv1.NativeField {
	if kind := raw.Kind(); kind == 'n' || kind == 0 {
		return nil
	}
	field := whole("thread", raw)
	field.Binding = memberText(raw, "type") != "create"
	return field
}

func (w *wireRequest) messages(req *genwayv1.GenerateTextRequest) error {
	if w.System.given() {
		m := &genwayv1.Message{Role: genwayv1.Role_ROLE_SYSTEM}
		var err error
		if m.Parts, err = decodeContent(w.System, member.Place{}, "system", decodeBlock); err != nil {
			return err
		}
		if len(m.Parts) > 0 {
			req.Messages = append(req.Messages, m)
		}
	}
	for i := range w.Messages {
		m, err := w.Messages[i].canonical(member.Place{Path: "messages", Element: i + 1})
		if err != nil {
			return err
		}
		req.Messages = append(req.Messages, m)
	}
	return nil
}

func (m *wireMessage) canonical(place member.Place) (*genwayv1.Message, error) {
	out := &genwayv1.Message{NativeFields: natives(m.Extra)}
	switch m.Role {
	case "user":
		out.Role = genwayv1.Role_ROLE_USER
	case "assistant":
		out.Role = genwayv1.Role_ROLE_ASSISTANT
	case "system":
		// The native role distinguishes a system turn from the system member.
		out.Role, out.NativeRole = genwayv1.Role_ROLE_SYSTEM, "system"
	case "":
		return nil, fault.Missing(place.Join("role"))
	default:
		return nil, fault.Invalid(place.Join("role"), "%s.role: expected user, assistant or system", place)
	}
	if !m.Content.given() && out.Role != genwayv1.Role_ROLE_SYSTEM {
		return nil, fault.Missing(place.Join("content"))
	}
	var err error
	out.Parts, err = decodeContent(m.Content, place, "content", decodeBlock)
	return out, err
}

// decoder returns the part of a block of one kind.
type decoder func(kind string, raw jsontext.Value, place member.Place) (*genwayv1.Part, error)

// decodeContent returns the parts of a string or an array of blocks. An empty
// string has none.
func decodeContent(c content, in member.Place, name string, decode decoder) ([]*genwayv1.Part, error) {
	if c.text != nil {
		if *c.text == "" {
			return nil, nil
		}
		return []*genwayv1.Part{textPart(*c.text)}, nil
	}
	if len(c.blocks) == 0 {
		return nil, nil
	}
	return decodeBlocks(c.blocks, in.Join(name), decode)
}

func textPart(text string) *genwayv1.Part {
	return codec.TextPart(text)
}

// decodeBlocks returns the parts of blocks at a path, each by decode.
func decodeBlocks(blocks []jsontext.Value, path string, decode decoder) ([]*genwayv1.Part, error) {
	var parts partList
	for i, raw := range blocks {
		at := member.Place{Path: path, Element: i + 1}
		if raw.Kind() != '{' {
			return nil, fault.Invalid(at.String(), "%s: expected object", at)
		}
		kind := memberText(raw, "type")
		if seal, place := carried(kind, raw); seal != nil {
			parts.carry(seal, place)
			continue
		}
		p, err := decode(kind, raw, at)
		if err != nil {
			return nil, err
		}
		parts.add(p)
	}
	return parts.close(), nil
}

// decodeBlock returns the part of a block of one kind. Kinds without a canonical
// part, known to the vendor or not, are opaque.
func decodeBlock(kind string, raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	switch kind {
	case "text":
		return decodeText(raw, place)
	case "image", "document":
		return decodeMedia(raw, place)
	case "thinking":
		return decodeThinking(raw, place)
	case "redacted_thinking":
		return decodeRedacted(raw, place)
	case "tool_use":
		return decodeToolUse(raw, place)
	case "tool_result":
		return decodeToolResult(raw, place)
	case "":
		return nil, fault.Missing(place.Join("type"))
	default:
		return opaque(kind, raw), nil
	}
}

// decodeInner returns the part of a block in a tool result. The vendor knows no tool result in
// another one: it is opaque, so that results of any depth cost what they are long.
func decodeInner(kind string, raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	if kind == "tool_result" {
		return opaque(kind, raw), nil
	}
	return decodeBlock(kind, raw, place)
}

func opaque(kind string, raw jsontext.Value) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{
		Protocol: protocol, Type: kind, Json: bytes.Clone(raw)}}}
}

func decodeText(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var b textBlock
	if err := member.DecodeAt(raw, &b, place); err != nil {
		return nil, err
	}
	p := textPart(b.Text)
	for i, c := range b.Citations {
		cited, err := decodeCitation(c, member.Index(place.Join("citations"), i))
		if err != nil {
			return nil, err
		}
		p.GetText().Citations = append(p.GetText().Citations, cited)
	}
	p.CacheControl, p.NativeFields = b.CacheControl.canonical(), natives(b.Extra)
	return p, nil
}

func decodeThinking(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var b thinkingBlock
	if err := member.DecodeAt(raw, &b, place); err != nil {
		return nil, err
	}
	seal := codec.ParseSeal(b.Signature, protocol)
	t := &genwayv1.Thinking{Text: b.Thinking, Signature: seal}
	if seal.GetProtocol() == genwayv1.Protocol_PROTOCOL_RESPONSES {
		// That protocol seals reasoning as encrypted content beside a summary.
		t = &genwayv1.Thinking{Summary: []string{b.Thinking}, EncryptedContent: seal}
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: t}, NativeFields: natives(b.Extra)}, nil
}

func decodeRedacted(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var b redactedBlock
	if err := member.DecodeAt(raw, &b, place); err != nil {
		return nil, err
	}
	if b.Data == "" {
		return nil, fault.Missing(place.Join("data"))
	}
	return &genwayv1.Part{NativeFields: natives(b.Extra), Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{
		EncryptedContent: codec.ParseSeal(b.Data, protocol)}}}, nil
}

func decodeToolUse(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var b toolUseBlock
	if err := member.DecodeAt(raw, &b, place); err != nil {
		return nil, err
	}
	switch {
	case b.ID == "":
		return nil, fault.Missing(place.Join("id"))
	case b.Name == "":
		return nil, fault.Missing(place.Join("name"))
	}
	p := codec.CallPart(b.Name, "{}")
	call := p.GetToolCall()
	call.Id = codec.DecodeToolID(b.ID)
	switch b.Input.Kind() {
	case '{':
		codec.SetArguments(call, member.Text(b.Input))
	case 0, 'n':
	default:
		return nil, fault.Invalid(place.Join("input"), "%s.input: expected object", place)
	}
	if b.PartialJSON != "" {
		codec.SetArguments(call, b.PartialJSON)
	}
	p.CacheControl, p.NativeFields = b.CacheControl.canonical(), append(callerField(b.Caller), natives(b.Extra)...)
	return p, nil
}

// callerField keeps who called a tool unless it was the model itself, which is the
// default.
func callerField(raw jsontext.Value) []*genwayv1.NativeField {
	if raw.Kind() != '{' || memberText(raw, "type") == "direct" {
		return nil
	}
	return []*genwayv1.NativeField{whole("caller", raw)}
}

func decodeToolResult(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var b toolResultBlock
	if err := member.DecodeAt(raw, &b, place); err != nil {
		return nil, err
	}
	if b.ToolUseID == "" {
		return nil, fault.Missing(place.Join("tool_use_id"))
	}
	parts, err := decodeContent(b.Content, place, "content", decodeInner)
	if err != nil {
		return nil, err
	}
	return &genwayv1.Part{
		Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{
			ToolCallId: codec.DecodeToolID(b.ToolUseID), Parts: parts, IsError: b.IsError}},
		CacheControl: b.CacheControl.canonical(),
		NativeFields: natives(b.Extra),
	}, nil
}
