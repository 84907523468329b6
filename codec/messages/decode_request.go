package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
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
		NativeFields:    member.Natives(protocol, w.Extra, bindingMember),
	}
	if err := w.settings.decode(req, ""); err != nil {
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

// bindingMember says which members without a canonical field bear on the answer:
// what the conversation continues from or runs in, and where it may be computed.
// mcp_servers are where hosted tools come from, which are merely offered.
func bindingMember(name string) bool {
	switch name {
	case "container", "inference_geo":
		return true
	}
	return false
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
