package generatecontent

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
	case *w.Text == "" && encrypts(seal.GetOrigin()):
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
	call := &genwayv1.ToolCall{Id: w.ID, Name: w.Name, ArgumentsJson: "{}"}
	switch {
	case w.ArgsText != nil:
		call.ArgumentsJson = *w.ArgsText
	case present(w.Args):
		if w.Args.Kind() != '{' {
			return fault.Invalid(path+".args", "%s.args is not an object", path)
		}
		call.ArgumentsJson = member.Text(w.Args)
	}
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
