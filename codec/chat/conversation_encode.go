package chat

import (
	"slices"

	"github.com/genway/genway/codec"
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

// messages writes the conversation. Each tool result is a message of its own here,
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

// messageEncoder writes a turn of the model.
type messageEncoder struct {
	*encoder
	message
	parts   []part // of the content, in their order
	texts   []*genwayv1.Text
	refusal []string
	path    string
	index   int32 // of the candidate
}

// assistant writes a turn of the model: the inverse of decoder.assistant. A message has its texts
// in one member and its calls in another. So text that follows a call comes to stand before it,
// which is noted as a loss.
func (e *encoder) assistant(list []*genwayv1.Part, fields []*genwayv1.NativeField, path string) (message, error) {
	return e.candidate(list, fields, path, 0)
}

func (e *encoder) candidate(list []*genwayv1.Part, fields []*genwayv1.NativeField, path string, index int32) (message, error) {
	s := &messageEncoder{encoder: e, path: path, index: index}
	if err := s.reasoning(list); err != nil {
		return message{}, err
	}
	last := lastText(list)
	signature := ""
	for i, p := range list {
		at := member.Within(path, ".parts", i)
		switch k := p.Kind.(type) {
		case *genwayv1.Part_Thinking:
			continue
		case *genwayv1.Part_ToolCall:
			s.call(p, int32(i))
			continue
		case *genwayv1.Part_Image:
			if err := s.image(p, at); err != nil {
				return message{}, err
			}
			continue
		case *genwayv1.Part_Audio:
			if s.audio(p, k.Audio, at) {
				continue
			}
		case *genwayv1.Part_Opaque:
			if member.Lifted(p) || s.opaque(p, k.Opaque) {
				continue
			}
		case *genwayv1.Part_Text:
			if p == last {
				if signature = e.seal(p.ThoughtSignature); signature != "" && !e.dialect.Takes("messages.extra_content") {
					e.lose(at + ".thought_signature")
					signature = ""
				}
				p = unsigned(p)
			}
			s.cite(k.Text, at)
		}
		if empty(p) {
			continue
		}
		if err := s.content(p, at); err != nil {
			return message{}, err
		}
	}
	s.ExtraContent = encodeExtraContent(signature, fields)
	s.finish()
	return s.message, nil
}

func lastText(list []*genwayv1.Part) *genwayv1.Part {
	for _, p := range slices.Backward(list) {
		if p.GetText() != nil {
			return p
		}
	}
	return nil
}

// unsigned returns the part without its signature, which is a member of the message.
func unsigned(p *genwayv1.Part) *genwayv1.Part {
	if p.ThoughtSignature == nil {
		return p
	}
	return &genwayv1.Part{Id: p.Id, Kind: p.Kind, CacheControl: p.CacheControl, NativeFields: p.NativeFields}
}

// content adds a part to the content. An answer's content is one string, so that
// its parts are joined; what cannot be is noted.
func (s *messageEncoder) content(p *genwayv1.Part, path string) error {
	out, err := s.part(p, path)
	if err != nil || s.answer && out.Type == "file" {
		if s.answer {
			s.losses.Add(path, "an answer of chat completions has no place for this kind of content")
			return nil
		}
		return err
	}
	if len(s.ToolCalls) > 0 && !s.answer {
		s.losses.Add(s.path+".parts", "text behind a tool call moves ahead of it")
	}
	if s.answer && out.Type == "refusal" {
		s.unsigned(p, path)
		s.refusal = append(s.refusal, *out.Refusal)
		return nil
	}
	if s.answer && out.Type == "text" && len(out.ExtraContent) > 0 {
		s.losses.Add(path+".thought_signature", "a message of chat completions has one signature of its text")
	}
	s.parts = append(s.parts, out)
	return nil
}

// unsigned names the signature of a part that has no place for one.
func (s *messageEncoder) unsigned(p *genwayv1.Part, path string) {
	if p.ThoughtSignature != nil {
		s.losses.Add(path+".thought_signature", unsignable)
	}
}

// unsignable is why the signature of a refusal or of audio is lost.
const unsignable = "chat completions has no place for a signature here"

// cite writes the citations of a text, whose ranges count from the beginning of
// the message here.
func (s *messageEncoder) cite(t *genwayv1.Text, path string) {
	if len(t.Citations) > 0 && !s.dialect.Takes("messages.annotations") {
		s.lose(path + ".text.citations")
	} else if len(t.Citations) > 0 {
		var offset int32
		for _, before := range s.texts {
			offset += characters(before.Text)
		}
		length := characters(t.Text)
		for _, c := range t.Citations {
			if a, ok := s.annotation(c, offset, length, path+".text.citations"); ok {
				s.Annotations = append(s.Annotations, a)
			}
		}
	}
	s.texts = append(s.texts, t)
}

// finish puts the content together.
func (s *messageEncoder) finish() {
	if s.answer {
		s.Content = joined(s.parts)
		s.Refusal = text{is: isNull}
		if len(s.refusal) > 0 {
			s.Refusal = textOf(concat(s.refusal))
		}
		if s.Annotations == nil {
			s.Annotations = []annotation{}
		}
		return
	}
	// A refusal at the end stands in the member of its own, where every engine
	// looks for it.
	if n := len(s.parts); s.dialect.Takes("messages.refusal") && n > 0 && s.parts[n-1].Refusal != nil && (n == 1 || s.parts[n-2].Refusal == nil) && len(s.parts[n-1].Extra) == 0 {
		s.Refusal = textOf(*s.parts[n-1].Refusal)
		s.parts = s.parts[:n-1]
	}
	s.Content = s.contentOf(s.parts, "")
	if len(s.parts) == 0 && s.Refusal.IsZero() && s.ToolCalls == nil && s.FunctionCall == nil && s.Audio == nil {
		s.Content = content{is: isText}
	}
}

// joined is the content of an answer: its texts as one string, or an array when
// there are parts of a kind only this protocol knows.
func joined(parts []part) content {
	if len(parts) == 0 {
		return content{is: isNull}
	}
	texts := make([]string, 0, len(parts))
	for i := range parts {
		if parts[i].Type != "text" {
			return content{is: isParts, parts: parts}
		}
		texts = append(texts, *parts[i].Text)
	}
	return content{is: isText, s: concat(texts)}
}

func concat(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	var all []byte
	for _, s := range list {
		all = append(all, s...)
	}
	return string(all)
}

// call writes a tool call. place is the part's, from which an id is made
// where there is none.
func (s *messageEncoder) call(p *genwayv1.Part, place int32) {
	c := p.GetToolCall()
	if !codec.IsCustom(c) && (s.deprecated || marked(p.NativeFields, functionCallName)) {
		if s.FunctionCall != nil {
			s.losses.Add(member.Within(s.path, ".parts", int(place)), "the deprecated function_call holds one call")
			return
		}
		s.FunctionCall = functionCallOf(p)
		return
	}
	out := toolCall{ID: c.Id, Type: "function", ExtraContent: s.extraContent(p, member.Within(s.path, ".parts", int(place)))}
	if out.ID == "" {
		out.ID = codec.SyntheticToolID(s.id, s.index, place)
	}
	switch {
	case codec.IsCustom(c) && !s.dialect.Takes("tools.custom"):
		out.Function = &functionCall{Name: c.Name, Arguments: textOf(codec.FreeFormArguments(c.GetInput()))}
	case codec.IsCustom(c):
		out.Type = "custom"
		out.Custom = &customCall{Name: c.Name, Input: textOf(c.GetInput()), Extra: inner(p.NativeFields, "custom.")}
	default:
		out.Function = functionCallOf(p)
	}
	if len(p.NativeFields) > 0 {
		s.unknown(&out, p, place)
	}
	s.ToolCalls = append(s.ToolCalls, out)
}

// unknown writes the unknown members of a call.
func (s *messageEncoder) unknown(out *toolCall, p *genwayv1.Part, place int32) {
	var err error
	if out.Extra, err = extra(p.NativeFields, member.Within(s.path, ".parts", int(place)), s.losses, "function.", "custom.", "extra_content"); err != nil {
		s.losses.Add(member.Within(s.path, ".parts", int(place)), "a member of the call has no place in chat completions")
	}
}

// functionCallOf writes the name and arguments; none are the empty object (T10).
func functionCallOf(p *genwayv1.Part) *functionCall {
	c := p.GetToolCall()
	arguments := c.GetArgumentsJson()
	if arguments == "" {
		arguments = "{}"
	}
	return &functionCall{Name: c.Name, Arguments: textOf(arguments), Extra: inner(p.NativeFields, "function.")}
}

// image adds an image the model made, in OpenRouter's member for it.
func (s *messageEncoder) image(p *genwayv1.Part, path string) error {
	if !s.dialect.Takes("messages.images") {
		s.lose(path + ".image")
		return nil
	}
	out, err := s.part(p, path)
	if err != nil {
		if s.answer {
			s.losses.Add(path, "the image has neither data nor an address")
			return nil
		}
		return err
	}
	s.Images = append(s.Images, out)
	return nil
}

// audio writes speech of the model; the vendor takes back only its id.
// It reports whether the part is done.
func (s *messageEncoder) audio(p *genwayv1.Part, m *genwayv1.Media, path string) bool {
	if !s.answer {
		if p.Id != "" && !s.dialect.Takes("messages.audio") {
			s.lose(path + ".audio")
		} else if p.Id != "" {
			s.Audio = &audio{ID: p.Id}
		}
		return p.Id != ""
	}
	if s.Audio != nil {
		s.losses.Add(path, "a message of chat completions has one audio")
		return true
	}
	s.unsigned(p, path)
	s.Audio = s.audioOf(p, m)
	if _, ok := m.GetSource().(*genwayv1.Media_Data); ok {
		s.Audio.data = m.GetData()
	} else {
		s.losses.Add(path, notWithin)
	}
	return true
}

// notWithin is why audio that an answer refers to is lost.
const notWithin = "an answer of chat completions has its audio within it"

// audioOf is the audio without its data. The SDK demands an id and an expiry.
func (e *encoder) audioOf(p *genwayv1.Part, m *genwayv1.Media) *audio {
	a := &audio{ID: p.Id, Transcript: m.GetTranscript(), ExpiresAt: member.Native(protocol, p.NativeFields, "expires_at")}
	if a.ID == "" {
		a.ID = "audio_" + e.id
	}
	if a.ExpiresAt == nil {
		a.ExpiresAt = []byte("0")
	}
	if out, err := extra(p.NativeFields, "", nil, "expires_at"); err == nil {
		a.Extra = out
	}
	return a
}

// opaque writes an element of another list of the message than its content. It
// reports whether the part was one.
func (s *messageEncoder) opaque(p *genwayv1.Part, o *genwayv1.OpaquePart) bool {
	if o.Protocol != protocol {
		return false
	}
	switch {
	case marked(p.NativeFields, toolCallsName):
		s.ToolCalls = append(s.ToolCalls, toolCall{verbatim: verbatim{raw: o.Json}})
		return true
	case marked(p.NativeFields, detailsName):
		return true // with the thinking
	}
	return false
}
