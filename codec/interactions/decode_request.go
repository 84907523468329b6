package interactions

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeRequest reads the body of POST /v1beta/interactions.
func (Codec) DecodeRequest(body []byte) (*codec.Request, error) {
	var w request
	if err := member.Decode(body, &w); err != nil {
		return nil, err
	}
	req, err := w.open()
	if err != nil {
		return nil, err
	}
	if err := w.messages(req); err != nil {
		return nil, err
	}
	if req.Tools, err = decodeTools(w.Tools); err != nil {
		return nil, err
	}
	return &codec.Request{GenerateTextRequest: req, Stream: w.Stream}, nil
}

// open reads all but the conversation and the tools.
func (w *request) open() (*genwayv1.GenerateTextRequest, error) {
	req := &genwayv1.GenerateTextRequest{Model: w.Model}
	if err := w.check(); err != nil {
		return nil, err
	}
	if err := w.decode(req, ""); err != nil {
		return nil, err
	}
	var err error
	if req.NativeFields, err = natives(w.Extra, member.Place{}); err != nil {
		return nil, err
	}
	if w.Background { // Genway runs it itself; an upstream is never asked for it
		f := native(memberBackground, []byte("true"))
		f.Binding = true
		req.NativeFields = append(req.NativeFields, f)
	}
	if err := w.format(req); err != nil {
		return nil, err
	}
	if w.GenerationConfig != nil {
		err = w.GenerationConfig.canonical(req)
	}
	return req, err
}

// check refuses what is not offered, and what every request must have.
func (w *request) check() error {
	if err := member.Misspelt(w.Extra, "model", "generation_config"); err != nil {
		return err
	}
	switch {
	case present(w.Agent), present(w.AgentConfig):
		return fault.Unsupported("agent", "agent: agents are not offered here; name a model")
	case w.Model == "":
		return fault.Missing("model")
	}
	return nil
}

// continues reports whether the request goes on with a conversation that the upstream keeps.
func continues(fields []*genwayv1.NativeField) bool {
	return member.Native(protocol, fields, memberPrevious) != nil || member.Native(protocol, fields, "continuation_token") != nil
}

const configPrefix = "generation_config."

func (w *generationConfig) canonical(req *genwayv1.GenerateTextRequest) error {
	const path = "generation_config"
	if err := member.Misspelt(w.Extra, "max_output_tokens"); err != nil {
		return err
	}
	if err := w.decode(req, path); err != nil {
		return err
	}
	fields, err := nested(configPrefix, w.Extra, member.Place{Path: path})
	if err != nil {
		return err
	}
	req.NativeFields = append(req.NativeFields, fields...)
	w.thinking(req)
	req.ToolChoice, err = decodeToolChoice(w.ToolChoice, path+".tool_choice")
	return err
}

// messages reads the system instruction, as the first message, and the input.
func (w *request) messages(req *genwayv1.GenerateTextRequest) error {
	if w.SystemInstruction != "" {
		req.Messages = append(req.Messages, &genwayv1.Message{Role: genwayv1.Role_ROLE_SYSTEM, Parts: []*genwayv1.Part{codec.TextPart(w.SystemInstruction)}})
	}
	t := turns{messages: req.Messages}
	if w.Input.kind == '"' && w.Input.text != "" {
		t.add(genwayv1.Role_ROLE_USER, codec.TextPart(w.Input.text))
	}
	for i, raw := range w.Input.list {
		if err := t.element(raw, member.Place{Path: "input", Element: i + 1}); err != nil {
			return err
		}
	}
	if len(t.messages) == len(req.Messages) && !continues(req.NativeFields) {
		return fault.Missing("input")
	}
	req.Messages = t.messages
	return nil
}

// turns gathers messages.
type turns struct {
	messages []*genwayv1.Message
	// The next content outside a step joins the last message if loose is set, and the next step of the model if model is.
	loose, model bool
}

// add adds a message of its own.
func (t *turns) add(role genwayv1.Role, parts ...*genwayv1.Part) *genwayv1.Message {
	m := &genwayv1.Message{Role: role, Parts: parts}
	t.messages = append(t.messages, m)
	t.loose, t.model = false, false
	return m
}

// steps adds parts of the model.
func (t *turns) steps(parts ...*genwayv1.Part) {
	if len(parts) == 0 {
		return
	}
	if t.model {
		last := t.messages[len(t.messages)-1]
		last.Parts = append(last.Parts, parts...)
		return
	}
	t.add(genwayv1.Role_ROLE_ASSISTANT, parts...)
	t.model = true
}

// element reads an element of the input.
func (t *turns) element(raw jsontext.Value, place member.Place) error {
	if raw.Kind() != '{' {
		return fault.Invalid(place.String(), "%s: expected an object", place)
	}
	switch kind := text(raw, "type"); kind {
	case "":
		return fault.Missing(place.Join("type"))
	case userInput:
		var s step
		if err := member.DecodeAt(raw, &s, place); err != nil {
			return err
		}
		if len(s.Content) == 0 {
			return fault.Missing(place.Join("content"))
		}
		parts, err := decodeContents(s.Content, place.Join("content"))
		if err != nil {
			return err
		}
		m := t.add(genwayv1.Role_ROLE_USER, parts...)
		m.NativeFields, err = natives(s.Extra, place)
		return err
	case functionResult:
		p, err := decodeResult(raw, place)
		if err != nil {
			return err
		}
		t.add(genwayv1.Role_ROLE_TOOL, p)
		return nil
	case "text", "image", "audio", "video", "document":
		return t.content(kind, raw, place)
	case functionCall:
		if text(raw, "id") == "" {
			return fault.Missing(place.Join("id"))
		}
	case modelOutput, thought:
	default:
		if t.loose { // beside contents, what is new is one as well
			return t.content(kind, raw, place)
		}
	}
	parts, err := decodeStep(text(raw, "type"), raw, place)
	t.steps(parts...)
	return err
}

// content adds a content that is in no step.
func (t *turns) content(kind string, raw jsontext.Value, place member.Place) error {
	p, err := decodeContent(kind, raw, place, "")
	if err != nil {
		return err
	}
	if t.loose {
		last := t.messages[len(t.messages)-1]
		last.Parts = append(last.Parts, p)
		return nil
	}
	t.add(genwayv1.Role_ROLE_USER, p)
	t.loose = true
	return nil
}

// decodeStep reads a step of the model.
func decodeStep(kind string, raw jsontext.Value, place member.Place) ([]*genwayv1.Part, error) {
	switch kind {
	case modelOutput:
		return decodeOutput(raw, place)
	case thought:
		return one(decodeThought(raw, place))
	case functionCall:
		return one(decodeCall(raw, place))
	}
	return []*genwayv1.Part{opaque(kind, raw)}, nil
}

// one is a list of a part, or none for nil.
func one(p *genwayv1.Part, err error) ([]*genwayv1.Part, error) {
	if p == nil || err != nil {
		return nil, err
	}
	return []*genwayv1.Part{p}, nil
}

// stepPrefix begins the natives of a part that are members of the step which begins with it.
const stepPrefix = "step."

// decodeOutput reads a model_output. One without content that has members of its own is an opaque part.
func decodeOutput(raw jsontext.Value, place member.Place) ([]*genwayv1.Part, error) {
	var s step
	if err := member.DecodeAt(raw, &s, place); err != nil {
		return nil, err
	}
	fields, err := nested(stepPrefix, s.Extra, place)
	if err != nil {
		return nil, err
	}
	if len(s.Content) == 0 {
		if len(fields) > 0 {
			return []*genwayv1.Part{opaque(modelOutput, raw)}, nil
		}
		return nil, nil
	}
	parts, err := decodeContents(s.Content, place.Join("content"))
	if err != nil {
		return nil, err
	}
	parts[0].NativeFields = append(fields, parts[0].NativeFields...)
	return parts, nil
}

// decodeContents reads a list of contents.
func decodeContents(list []jsontext.Value, path string) ([]*genwayv1.Part, error) {
	parts := make([]*genwayv1.Part, 0, len(list))
	for i, raw := range list {
		place := member.Place{Path: path, Element: i + 1}
		if raw.Kind() != '{' {
			return nil, fault.Invalid(place.String(), "%s: expected an object", place)
		}
		p, err := decodeContent(text(raw, "type"), raw, place, "")
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// decodeCall reads a function_call.
func decodeCall(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var s callStep
	if err := member.DecodeAt(raw, &s, place); err != nil {
		return nil, err
	}
	if s.Name == "" {
		return nil, fault.Missing(place.Join("name"))
	}
	p := codec.CallPart(s.Name, "{}")
	p.GetToolCall().Id = s.ID
	switch {
	case !present(s.Arguments):
	case s.Arguments.Kind() != '{':
		return nil, fault.Invalid(place.Join("arguments"), "%s.arguments: expected an object", place)
	default:
		codec.SetArguments(p.GetToolCall(), member.Text(s.Arguments))
	}
	p.ThoughtSignature = codec.ParseSeal(s.Signature, protocol)
	var err error
	p.NativeFields, err = natives(s.Extra, place)
	return p, err
}

// decodeResult reads a function_result: a text, a list of contents, or any object.
func decodeResult(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var s resultStep
	if err := member.DecodeAt(raw, &s, place); err != nil {
		return nil, err
	}
	if s.CallID == "" {
		return nil, fault.Missing(place.Join("call_id"))
	}
	r := &genwayv1.ToolResult{ToolCallId: s.CallID, Name: s.Name, IsError: s.IsError}
	var err error
	switch s.Result.Kind() {
	case '"':
		if said := member.Raw(s.Result).String(); said != "" {
			r.Parts = []*genwayv1.Part{codec.TextPart(said)}
		}
	case '[':
		var list []jsontext.Value
		for _, element := range member.Elements(s.Result) {
			list = append(list, element)
		}
		r.Parts, err = decodeContents(list, place.Join("result"))
	case '{':
		r.ResultJson = new(member.Text(s.Result))
	case 0, 'n':
		return nil, fault.Missing(place.Join("result"))
	default:
		return nil, fault.Invalid(place.Join("result"), "%s.result: expected a string, an array or an object", place)
	}
	if err != nil {
		return nil, err
	}
	p := &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: r}}
	p.NativeFields, err = natives(s.Extra, place)
	return p, err
}

// pieceMember is the native field of a thought with a piece of its summary that is no text.
const pieceMember = "summary"

// decodeThought reads a thought. Pieces of its summary are one text, as the pieces of a stream are; those that are no text are
// native fields.
func decodeThought(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var s thoughtStep
	if err := member.DecodeAt(raw, &s, place); err != nil {
		return nil, err
	}
	fields, err := natives(s.Extra, place)
	var said strings.Builder
	for _, piece := range s.Summary {
		if text(piece, "type") == "text" {
			said.WriteString(text(piece, "text"))
		} else {
			fields = append(fields, native(pieceMember, piece))
		}
	}
	t := sealed(said.String(), s.Signature)
	if t == nil && len(fields) == 0 {
		return nil, err
	}
	if t == nil {
		t = &genwayv1.Thinking{}
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: t}, NativeFields: fields}, err
}

// sealed is thinking with a signature, which for some protocols is reasoning that they have encrypted; nil where there is
// neither.
func sealed(said, signature string) *genwayv1.Thinking {
	seal := codec.ParseSeal(signature, protocol)
	switch {
	case said == "" && seal == nil:
		return nil
	case seal.GetProtocol() == genwayv1.Protocol_PROTOCOL_RESPONSES:
		t := &genwayv1.Thinking{EncryptedContent: seal} // beside a summary
		if said != "" {
			t.Summary = []string{said}
		}
		return t
	case said == "" && encrypts(seal.GetProtocol()):
		return &genwayv1.Thinking{EncryptedContent: seal}
	}
	return &genwayv1.Thinking{Text: said, Signature: seal}
}

// encrypts reports whether a seal without a text is encrypted reasoning.
func encrypts(origin genwayv1.Protocol) bool {
	return origin == genwayv1.Protocol_PROTOCOL_MESSAGES || origin == genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
}
