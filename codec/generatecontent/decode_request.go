package generatecontent

import (
	"bytes"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeRequest reads a request body. The model stays empty: it is in the path. A
// model member of the body is taken and not kept.
func (Codec) DecodeRequest(body []byte) (*codec.Request, error) {
	var w request
	if err := member.Decode(camelCase(body), &w); err != nil {
		return nil, err
	}
	req, err := w.canonical("")
	if err != nil {
		return nil, err
	}
	return &codec.Request{GenerateTextRequest: req}, nil
}

// canonical returns the request as the contract has it; base is the path of the
// object in the body.
func (w *request) canonical(base string) (*genwayv1.GenerateTextRequest, error) {
	req := &genwayv1.GenerateTextRequest{}
	err := w.open(req, base)
	if err != nil {
		return nil, err
	}
	if err := w.messages(req, base); err != nil {
		return nil, err
	}
	if req.Tools, err = decodeTools(w.Tools, member.Join(base, "tools")); err != nil {
		return nil, err
	}
	return req, w.close(req, base)
}

// open reads what stands beside the conversation, the tools and the configuration.
func (w *request) open(req *genwayv1.GenerateTextRequest, base string) (err error) {
	if err := w.decode(req, base); err != nil {
		return err
	}
	if err := member.Misspelt(w.Extra, "generationConfig"); err != nil {
		return err
	}
	req.NativeFields, err = natives(w.Extra, base, binds(""))
	return err
}

// close reads the configuration, behind the tools.
func (w *request) close(req *genwayv1.GenerateTextRequest, base string) error {
	if w.ToolConfig != nil {
		if err := w.ToolConfig.decode(req, member.Join(base, "toolConfig")); err != nil {
			return err
		}
	}
	if w.GenerationConfig != nil {
		return w.GenerationConfig.decode(req, member.Join(base, "generationConfig"))
	}
	return nil
}

// messages reads the system instruction, as the first message, and the turns.
func (w *request) messages(req *genwayv1.GenerateTextRequest, base string) error {
	if w.SystemInstruction != nil {
		place := member.Place{Path: member.Join(base, "systemInstruction")}
		// Its role says nothing: clients write user, system or none.
		m, err := reader{}.message(w.SystemInstruction, genwayv1.Role_ROLE_SYSTEM, place)
		if err != nil {
			return err
		}
		if speaks(m) {
			req.Messages = append(req.Messages, m)
		}
	}
	system := len(req.Messages)
	contents := member.Join(base, "contents")
	for i := range w.Contents {
		c := &w.Contents[i]
		place := member.Place{Path: contents, Element: i + 1}
		role, err := decodeRole(c.Role, place)
		if err != nil {
			return err
		}
		if len(c.Parts) == 0 {
			return fault.Missing(place.Join("parts"))
		}
		m, err := reader{}.message(c, role, place)
		if err != nil {
			return err
		}
		if role == genwayv1.Role_ROLE_ASSISTANT && !speaks(m) {
			continue // a model's turn that says nothing
		}
		req.Messages = append(req.Messages, m)
	}
	if len(req.Messages) == system {
		return fault.Missing(contents)
	}
	req.Messages = joinFragments(req.Messages)
	return nil
}

// speaks reports whether a message has more than empty text.
func speaks(m *genwayv1.Message) bool {
	return len(m.NativeFields) > 0 || len(m.Parts) > 0 && says(m.Parts[0])
}

// decodeRole reads the role of a turn. function is an earlier word for the user's
// turn of results.
func decodeRole(role string, place member.Place) (genwayv1.Role, error) {
	switch strings.ToLower(role) {
	case "", "user", "function":
		return genwayv1.Role_ROLE_USER, nil
	case "model":
		return genwayv1.Role_ROLE_ASSISTANT, nil
	}
	return 0, fault.Invalid(place.Join("role"), "%s.role must be user or model", place.String())
}

// decode reads the generation configuration into the request.
func (w *generationConfig) decode(req *genwayv1.GenerateTextRequest, path string) error {
	fields, err := nested("generationConfig.", w.Extra, path, binds("generationConfig."))
	if err != nil {
		return err
	}
	req.NativeFields = append(req.NativeFields, fields...)
	if err := w.generationConfigSettings.decode(req, path); err != nil {
		return err
	}
	if err := w.decodeFormat(req, path); err != nil {
		return err
	}
	if w.SpeechConfig != nil {
		if req.AudioOutput, err = w.SpeechConfig.decode(path + ".speechConfig"); err != nil {
			return err
		}
	}
	if w.ThinkingConfig != nil {
		req.Thinking, err = w.ThinkingConfig.decode(path + ".thinkingConfig")
	}
	return err
}

// encodeGenerationConfig writes the generation configuration; nil when there is
// nothing to say.
func encodeGenerationConfig(req *genwayv1.GenerateTextRequest, fields []*genwayv1.NativeField, losses *codec.Losses) (*generationConfig, error) {
	w := &generationConfig{}
	w.encode(req, losses)
	if err := w.encodeFormat(req.ResponseFormat); err != nil {
		return nil, err
	}
	var err error
	if w.SpeechConfig, err = encodeSpeech(req.AudioOutput, losses); err != nil {
		return nil, err
	}
	if w.ThinkingConfig, err = encodeThinking(req, losses); err != nil {
		return nil, err
	}
	if w.Extra, err = member.Extra(protocol, fields, "generationConfig", losses); err != nil {
		return nil, err
	}
	if req.Sampling == nil && len(w.StopSequences) == 0 && w.MaxOutputTokens == nil && len(w.ResponseModalities) == 0 &&
		req.ResponseFormat == nil && w.SpeechConfig == nil && w.ThinkingConfig == nil && len(w.Extra) == 0 {
		return nil, nil
	}
	return w, nil
}

// reader turns wire parts into canonical ones.
type reader struct {
	// answer relaxes what an upstream may leave out.
	answer bool
}

// vendorParts are the data members only the vendor can act on: a part with one is
// opaque.
var vendorParts = map[string]bool{
	"executableCode": true, "codeExecutionResult": true, "toolCall": true, "toolResponse": true,
}

// partNotes are the members that say something about a part without being its
// data (SDK type Part). Any other member beside no known data is data of a kind
// this version does not know.
var partNotes = map[string]bool{
	"videoMetadata": true, "mediaResolution": true, "mediaProcessing": true,
	"partMetadata": true, "speechMetadata": true, "audioTranscription": true,
}

const dataMembers = "text, inlineData, fileData, functionCall, functionResponse"

// message reads a turn. Empty text parts are left out unless the turn has no
// other parts.
func (r reader) message(c *content, role genwayv1.Role, place member.Place) (*genwayv1.Message, error) {
	parts, err := r.parts(c.Parts, member.Place{In: &place, Path: "parts"})
	if err != nil {
		return nil, err
	}
	m := &genwayv1.Message{Role: role, Parts: joinSealed(sayings(parts))}
	m.NativeFields, err = nativesAt(c.Extra, place)
	return m, err
}

func (r reader) parts(wire []part, list member.Place) ([]*genwayv1.Part, error) {
	parts := make([]*genwayv1.Part, 0, len(wire))
	for i := range wire {
		list.Element = i + 1
		p, err := r.part(&wire[i], list)
		if err != nil {
			return nil, err
		}
		if p != nil {
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// part reads one part; nil for one that says nothing (answers only).
func (r reader) part(w *part, place member.Place) (*genwayv1.Part, error) {
	count := 0
	for _, given := range []bool{w.Text != nil, w.InlineData != nil, w.FileData != nil, w.FunctionCall != nil, w.FunctionResponse != nil} {
		if given {
			count++
		}
	}
	kind := vendorKind(w.Extra, count == 0)
	if kind != "" {
		if count > 0 {
			return nil, fault.Invalid(place.String(), "%s has %s beside one of %s", place.String(), kind, dataMembers)
		}
		return opaquePart(w, kind)
	}
	if count > 1 {
		return nil, fault.Invalid(place.String(), "%s has more than one of %s", place.String(), dataMembers)
	}
	p := &genwayv1.Part{ThoughtSignature: codec.ParseSeal(w.ThoughtSignature, protocol)}
	fields, err := nativesAt(w.Extra, place)
	if err != nil {
		return nil, err
	}
	if count == 0 {
		// The Go SDK leaves out an empty text: what is left of a part that carries
		// a signature is only the signature (case R2).
		if w.ThoughtSignature == "" && !w.Thought {
			if r.answer && len(fields) == 0 {
				return nil, nil
			}
			return nil, fault.Invalid(place.String(), "%s has none of %s", place.String(), dataMembers)
		}
		w.Text = new(string)
	}
	if w.Thought && w.Text == nil {
		fields = append(fields, native("thought", jsontext.Value("true")))
	}
	switch {
	case w.Text != nil:
		textPart(w, p)
	case w.InlineData != nil:
		err = r.inlineData(w, p, place.String())
	case w.FileData != nil:
		err = r.fileData(w, p, place.String())
	case w.FunctionCall != nil:
		err = r.functionCall(w.FunctionCall, p, place.Join("functionCall"))
	case w.FunctionResponse != nil:
		err = r.functionResponse(w.FunctionResponse, p, place.Join("functionResponse"))
	}
	if present(w.AudioTranscription) && !transcript(w.AudioTranscription, p) {
		fields = append(fields, native("audioTranscription", w.AudioTranscription))
	}
	p.NativeFields = append(fields, p.NativeFields...)
	return p, err
}

// vendorKind names the data member only the vendor can act on; "" when there is
// none. With only set an unknown member is one.
func vendorKind(extra jsontext.Value, only bool) string {
	if len(extra) == 0 {
		return ""
	}
	unknown := ""
	for _, f := range member.Natives(protocol, extra, nil) {
		if vendorParts[f.Name] {
			return f.Name
		}
		if unknown == "" && only && !partNotes[f.Name] {
			unknown = f.Name
		}
	}
	return unknown
}

// opaquePart keeps the whole part. It is put together again from its members, so
// that they may have changed places, but each is as it was.
func opaquePart(w *part, kind string) (*genwayv1.Part, error) {
	whole, err := spelled(w)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidRequest, fault.ReasonInvalidMember, "a part of unknown kind could not be read")
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: protocol, Type: kind, Json: whole}}}, nil
}

// textPart reads text, a thought, or encrypted reasoning of another protocol's
// upstream, which travels as the signature of an empty text (see thinkingParts).
func textPart(w *part, p *genwayv1.Part) {
	seal := p.ThoughtSignature
	if hidden := hiddenSeal(w.ThoughtSignature); hidden != nil && *w.Text == "" {
		w.Thought, p.ThoughtSignature = false, nil
		p.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{EncryptedContent: hidden}}
		return
	}
	switch {
	case w.Thought:
		p.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: *w.Text, Signature: seal}}
	case *w.Text == "" && encrypts(seal.GetProtocol()):
		p.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{EncryptedContent: seal}}
	default:
		p.Kind = &genwayv1.Part_Text{Text: &genwayv1.Text{Text: *w.Text}}
		return
	}
	p.ThoughtSignature = nil
}

func (r reader) functionCall(w *functionCall, p *genwayv1.Part, path string) error {
	if w.Name == "" {
		return fault.Missing(path + ".name")
	}
	if r.answer && inPieces(w.Extra) {
		return fault.Invalid(path+".partialArgs", "%s has its arguments in pieces, which streamFunctionCallArguments asks for: only clients of generateContent can put them together", path)
	}
	arguments := "{}"
	switch {
	case w.ArgsText != nil:
		arguments = *w.ArgsText
	case present(w.Args):
		if w.Args.Kind() != '{' {
			return fault.Invalid(path+".args", "%s.args is not an object", path)
		}
		arguments = member.Text(w.Args)
	}
	call := &genwayv1.ToolCall{Id: w.ID, Name: w.Name}
	codec.SetArguments(call, arguments)
	p.Kind = &genwayv1.Part_ToolCall{ToolCall: call}
	var err error
	p.NativeFields, err = nested("functionCall.", w.Extra, path, nil)
	return err
}

// inPieces reports whether a call has a part of its arguments only. Without the others it would be
// another call.
func inPieces(extra jsontext.Value) bool {
	return present(member.Value(extra, "partialArgs")) || string(member.Value(extra, "willContinue")) == "true"
}

// transcript reads the words of spoken output; false when they have more
// members than a canonical part can hold.
func transcript(raw jsontext.Value, p *genwayv1.Part) bool {
	var t struct {
		Text  string         `json:"text"`
		Extra jsontext.Value `json:",embed"`
	}
	if p.GetAudio() == nil || json.Unmarshal(bytes.Clone(raw), &t, member.Options()) != nil || len(t.Extra) > 0 || t.Text == "" {
		return false
	}
	p.GetAudio().Transcript = t.Text
	return true
}

// joinFragments makes one message of the model's neighbouring turns. The vendor's
// JavaScript SDK keeps each frame of a stream as a turn of its own
// (Chat.sendMessageStream), so that its history has a turn for every few words;
// upstreams of other protocols count turns, and some want the roles to alternate.
// Turns with members of their own stay as they are.
func joinFragments(messages []*genwayv1.Message) []*genwayv1.Message {
	out := messages[:0]
	for len(messages) > 0 {
		n := 1
		for n < len(messages) && fragment(messages[0]) && fragment(messages[n]) {
			n++
		}
		m := messages[0]
		if n > 1 {
			m.Parts = joinedParts(messages[:n])
		}
		out = append(out, m)
		messages = messages[n:]
	}
	return out
}

func fragment(m *genwayv1.Message) bool {
	return m.Role == genwayv1.Role_ROLE_ASSISTANT && len(m.NativeFields) == 0
}

// joinedParts are the parts of all the messages. Text that goes on in the next
// message becomes one text, and a signature that a stream spells behind its text
// goes where an answer that is no stream has it.
func joinedParts(messages []*genwayv1.Message) []*genwayv1.Part {
	var out []*genwayv1.Part
	var pieces []string // of the last part
	flush := func() {
		if len(pieces) > 1 {
			setWords(out[len(out)-1], strings.Join(pieces, ""))
		}
		pieces = nil
	}
	for _, m := range messages {
		for i, p := range m.Parts {
			if i == 0 && len(out) > 0 && goesOn(out[len(out)-1], p) {
				pieces = append(pieces, words(p))
				out[len(out)-1].ThoughtSignature = p.ThoughtSignature
				continue
			}
			flush()
			out, pieces = append(out, p), []string{words(p)}
		}
	}
	flush()
	return joinSealed(out)
}

// goesOn reports whether a part is more of the one before: both text or both
// thought, with nothing else to them but a signature that has no text.
func goesOn(before, p *genwayv1.Part) bool {
	if !bare(before) || before.ThoughtSignature != nil || !bare(p) || p.ThoughtSignature != nil && words(p) != "" {
		return false
	}
	return (before.GetText() != nil) == (p.GetText() != nil)
}

// bare reports whether a part is nothing but text or thought and its signature.
func bare(p *genwayv1.Part) bool {
	t := p.GetThinking()
	if p.GetText() == nil && (t == nil || t.Signature != nil || t.EncryptedContent != nil) {
		return false
	}
	return len(p.NativeFields) == 0
}

func words(p *genwayv1.Part) string { return p.GetText().GetText() + p.GetThinking().GetText() }

func setWords(p *genwayv1.Part, text string) {
	if t := p.GetThinking(); t != nil {
		t.Text = text
		return
	}
	p.GetText().Text = text
}
