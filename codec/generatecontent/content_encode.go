package generatecontent

import (
	"errors"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// writer turns canonical parts into wire ones.
type writer struct {
	losses *codec.Losses
	// answer says that a caller reads what is written, not an upstream: seals of
	// other protocols travel in disguise, and what cannot be carried is left out
	// and named instead of refused.
	answer bool
	// calls are the tool calls written so far, by id.
	calls map[string]writtenCall
}

// writtenCall is what a result must know of its call.
type writtenCall struct {
	name  string
	order int
}

// errLeftOut says that a part was left out and named in the losses.
var errLeftOut = errors.New("left out")

// The lists of a part's natives, in the order of partPrefixes; the last is that
// of the part itself.
const (
	inlineDataNatives = iota
	fileDataNatives
	callNatives
	resultNatives
	ownNatives
)

var partPrefixes = []string{"inlineData.", "fileData.", "functionCall.", "functionResponse."}

// refuse is for what bears on the answer and cannot be carried.
func (e *writer) refuse(path, why string) error {
	if e.answer {
		e.losses.Add(path, why)
		return errLeftOut
	}
	return fault.Unsupported(path, "%s: %s", path, why)
}

// parts writes the parts of one turn.
func (e *writer) parts(parts []*genwayv1.Part, path string) ([]part, error) {
	out := make([]part, 0, len(parts))
	for i, p := range parts {
		var err error
		out, err = e.part(out, p, member.Index(path, i))
		if err != nil && !errors.Is(err, errLeftOut) {
			return nil, err
		}
	}
	return out, nil
}

// part appends what one canonical part becomes.
func (e *writer) part(out []part, p *genwayv1.Part, path string) ([]part, error) {
	lists := split(p.NativeFields, partPrefixes...)
	w := part{}
	own := takeThought(&w, lists[ownNatives])
	var err error
	if w.Extra, err = member.Extra(protocol, own, path, e.losses); err != nil {
		return out, err
	}
	if p.CacheControl != nil {
		e.losses.Add(path+".cache_control", "the target protocol caches prompts without breakpoints")
	}
	if _, thinking := p.Kind.(*genwayv1.Part_Thinking); !thinking {
		w.ThoughtSignature = e.seal(p.ThoughtSignature, path+".thought_signature")
	}
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Text:
		w.Text = &k.Text.Text
		if !e.answer && len(k.Text.GetCitations()) > 0 {
			e.losses.Add(path+".text.citations", "the target protocol takes text alone")
		}
	case *genwayv1.Part_Refusal:
		w.Text = &k.Refusal.Text
	case *genwayv1.Part_Thinking:
		return e.thinking(out, w, p, path+".thinking"), nil
	case *genwayv1.Part_Image:
		err = e.media(k.Image, &w, path+".image", lists)
	case *genwayv1.Part_Audio:
		err = e.media(k.Audio, &w, path+".audio", lists)
		if script := k.Audio.GetTranscript(); script != "" {
			w.AudioTranscription, err = transcription(script, err)
		}
	case *genwayv1.Part_Video:
		err = e.media(k.Video, &w, path+".video", lists)
	case *genwayv1.Part_File:
		err = e.media(k.File, &w, path+".file", lists)
	case *genwayv1.Part_ToolCall:
		w.FunctionCall, err = e.functionCall(k.ToolCall, path+".tool_call", lists[callNatives])
	case *genwayv1.Part_ToolResult:
		w.FunctionResponse, err = e.functionResponse(k.ToolResult, path+".tool_result", lists[resultNatives])
	case *genwayv1.Part_Opaque:
		if member.Lifted(p) {
			return out, nil
		}
		if k.Opaque.GetProtocol() != protocol {
			return out, e.refuse(path+".opaque", "content of the kind "+k.Opaque.GetType()+" has no form in the target protocol")
		}
		w = part{raw: k.Opaque.GetJson()}
	default:
		return out, nil
	}
	if err != nil || w.empty() {
		return out, err
	}
	return append(out, w), nil
}

// empty reports whether a part says nothing (cases T2 and F12).
func (w *part) empty() bool {
	return w.Text != nil && *w.Text == "" && w.ThoughtSignature == "" && len(w.Extra) == 0
}

// takeThought takes the mark of a thought that is not text out of the natives.
func takeThought(w *part, fields []*genwayv1.NativeField) []*genwayv1.NativeField {
	for i, f := range fields {
		if f.Protocol == protocol && f.Name == "thought" && string(f.Json) == "true" {
			w.Thought = true
			return append(fields[:i:i], fields[i+1:]...)
		}
	}
	return fields
}

// thinking writes a thought as text marked as one, and encrypted reasoning, which
// the protocol has not, as the signature of an empty text behind it.
func (e *writer) thinking(out []part, w part, p *genwayv1.Part, path string) []part {
	t := p.GetThinking()
	text := codec.ThinkingText(t)
	signature, at := t.GetSignature(), path+".signature"
	switch ofPart := strings.TrimSuffix(path, ".thinking") + ".thought_signature"; {
	case signature == nil:
		signature, at = p.ThoughtSignature, ofPart
	case p.ThoughtSignature != nil:
		e.losses.Add(ofPart, "a thought of the target protocol has one signature")
	}
	sealed := e.seal(signature, at)
	if text != "" || sealed != "" || len(w.Extra) > 0 {
		w.Text, w.Thought, w.ThoughtSignature = &text, true, sealed
		out = append(out, w)
	}
	if hidden := e.hidden(t.GetEncryptedContent(), path+".encrypted_content"); hidden != "" {
		out = append(out, part{Text: new(string), ThoughtSignature: hidden})
	}
	return out
}

// seal spells a seal. An upstream gets only those its own protocol made (case R7).
func (e *writer) seal(s *genwayv1.Seal, path string) string {
	if foreign(s) && !e.answer && s.Origin != genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		e.losses.Add(path, "only the upstream that made it can read it")
		return ""
	}
	return codec.SealText(s, protocol, true)
}

// broken reports whether the arguments of a call have no place in its args.
func broken(call *genwayv1.ToolCall) bool {
	return call != nil && call.Input == nil && !codec.AreNone(call.GetArgumentsJson()) && !codec.AreObject(call.GetArgumentsJson())
}

// functionCall writes a tool call. Arguments that are not one JSON object go as text into
// a request, and fail an answer.
func (e *writer) functionCall(call *genwayv1.ToolCall, path string, fields []*genwayv1.NativeField) (*functionCall, error) {
	w := &functionCall{ID: call.GetId(), Name: call.GetName(), Args: jsontext.Value("{}")}
	if codec.IsSyntheticToolID(w.ID) {
		w.ID = ""
	}
	if e.calls != nil {
		e.calls[call.GetId()] = writtenCall{call.GetName(), len(e.calls)}
	}
	switch text := call.GetArgumentsJson(); {
	case call.Input != nil:
		w.Args = jsontext.Value(codec.FreeFormArguments(call.GetInput()))
	case codec.AreNone(text):
	case codec.AreObject(text):
		w.Args = jsontext.Value(text)
	case e.answer:
		return nil, codec.BrokenArguments(call.GetName())
	default:
		w.Args = jsontext.Value(codec.TextArguments(text))
		e.losses.Add(path+".arguments_json", codec.WrappedArguments)
	}
	var err error
	w.Extra, err = member.Extra(protocol, fields, path, e.losses)
	return w, err
}

// transcription writes the words of spoken output.
func transcription(text string, err error) (jsontext.Value, error) {
	if err != nil {
		return nil, err
	}
	quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	return jsontext.Value(`{"text":` + string(quoted) + `}`), err
}
