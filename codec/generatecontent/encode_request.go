package generatecontent

import (
	"errors"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// EncodeRequest writes a request body. The model is not in it; it is in the path.
func (Codec) EncodeRequest(req *codec.Request, losses *codec.Losses) ([]byte, error) {
	w, err := wireRequest(req.GenerateTextRequest, losses)
	if err != nil {
		return nil, err
	}
	body, err := marshal(w, member.SizeOfRequest(req.GenerateTextRequest), fault.InvalidRequest)
	if err != nil {
		return nil, err
	}
	return member.Merge(body, req.ExtraJson, "extra_json", reserved)
}

// reserved are the members of a body that fields of the contract are written to, by each
// of their spellings.
var reserved = member.ReservedBy[request]("_responseJsonSchema", "responseJsonSchema")

// reserves refuses native fields that say what the contract has a field for. A type of
// answers that the contract does not know is written in the vendor's word.
func reserves(req *genwayv1.GenerateTextRequest) error {
	config := reserved.In("generationConfig")
	if err := reserved.Fields(protocol, req.NativeFields, "", mimeTypeField); err != nil {
		return err
	}
	if err := config.In("thinkingConfig").Fields(protocol, req.GetThinking().GetNativeFields(), "thinking"); err != nil {
		return err
	}
	return config.In("speechConfig").Fields(protocol, req.GetAudioOutput().GetNativeFields(), "audio_output", "voiceConfig")
}

// wireRequest is the request without extra_json.
func wireRequest(req *genwayv1.GenerateTextRequest, losses *codec.Losses) (*request, error) {
	if err := reserves(req); err != nil {
		return nil, err
	}
	req, err := fit.Request(req, protocol, losses)
	if err != nil {
		return nil, err
	}
	lists := split(req.NativeFields, "generationConfig.", "toolConfig.functionCallingConfig.", "toolConfig.")
	w := &request{}
	w.encode(req, losses)
	if err := omitSettings(req, losses); err != nil {
		return nil, err
	}
	if w.Extra, err = member.Extra(protocol, lists[3], "", losses); err != nil {
		return nil, err
	}
	e := &writer{losses: losses, calls: map[string]writtenCall{}}
	if err := e.messages(req.Messages, w); err != nil {
		return nil, err
	}
	if w.Tools, err = encodeTools(req.Tools, losses); err != nil {
		return nil, err
	}
	if w.ToolConfig, err = encodeToolConfig(req, lists[1], lists[2], losses); err != nil {
		return nil, err
	}
	if w.GenerationConfig, err = encodeGenerationConfig(req, lists[0], losses); err != nil {
		return nil, err
	}
	return w, nil
}

// messages writes the turns, and all system text into the system instruction.
func (e *writer) messages(messages []*genwayv1.Message, w *request) error {
	var results resultTurn
	system := &content{}
	for i, m := range messages {
		if member.AllLifted(m) {
			continue
		}
		path := member.Index("messages", i)
		if m.Role != genwayv1.Role_ROLE_TOOL {
			w.Contents = results.flush(w.Contents)
		}
		if m.Role == genwayv1.Role_ROLE_ASSISTANT && (i == 0 || messages[i-1].Role != genwayv1.Role_ROLE_ASSISTANT) {
			clear(e.calls)
		}
		c, err := e.turn(m, path)
		if err != nil {
			return err
		}
		switch m.Role {
		case genwayv1.Role_ROLE_SYSTEM, genwayv1.Role_ROLE_DEVELOPER:
			if len(w.Contents) > 0 && len(c.Parts) > 0 {
				e.losses.Add(path, "the target protocol says all system text ahead of the conversation")
			}
			system.Parts = append(system.Parts, c.Parts...)
			if system.Extra == nil {
				system.Extra = c.Extra
			}
			continue
		case genwayv1.Role_ROLE_TOOL:
			results.add(e, m, c.Parts)
			continue
		default:
		}
		if len(c.Parts) == 0 && len(c.Extra) == 0 {
			continue
		}
		if last := len(w.Contents) - 1; last >= 0 && c.Role == "model" && w.Contents[last].Role == "model" && len(c.Extra) == 0 &&
			messages[i-1].Role != genwayv1.Role_ROLE_ASSISTANT {
			// What was between them is not written here, and the vendor refuses calls after a turn of the model.
			w.Contents[last].Parts = append(w.Contents[last].Parts, c.Parts...)
			continue
		}
		w.Contents = append(w.Contents, *c)
	}
	w.Contents = results.flush(w.Contents)
	if len(system.Parts) > 0 || len(system.Extra) > 0 {
		w.SystemInstruction = system
	}
	if len(w.Contents) == 0 {
		return fault.Unsupported("messages", "messages: the target protocol needs a message that is not system text")
	}
	return nil
}

// turn writes one message.
func (e *writer) turn(m *genwayv1.Message, path string) (*content, error) {
	c := &content{}
	switch m.Role {
	case genwayv1.Role_ROLE_USER, genwayv1.Role_ROLE_TOOL:
		c.Role = "user"
	case genwayv1.Role_ROLE_ASSISTANT:
		c.Role = "model"
	case genwayv1.Role_ROLE_SYSTEM, genwayv1.Role_ROLE_DEVELOPER:
	default:
		return nil, fault.Unsupported(path+".role", "%s.role: the target protocol knows no such role", path)
	}
	if m.Name != "" {
		e.losses.Add(path+".name", "the target protocol does not name speakers")
	}
	var err error
	if c.Extra, err = member.Extra(protocol, m.NativeFields, path, e.losses); err != nil {
		return nil, err
	}
	if c.Parts, err = e.parts(m.Parts, path+".parts"); err != nil {
		return nil, err
	}
	if len(c.Parts) == 0 && len(m.Parts) > 0 && c.Role == "user" && m.Parts[0].GetText() != nil {
		c.Parts = list[part]{{Text: new(string)}} // the user did say nothing
	}
	return c, nil
}

// resultTurn gathers neighbouring turns of tool results into one, in the order of
// the calls: the vendor wants the results of one turn's calls together, right
// behind it (case T17).
type resultTurn struct {
	groups []resultGroup
}

type resultGroup struct {
	order int
	parts []part
}

func (t *resultTurn) add(e *writer, m *genwayv1.Message, parts []part) {
	order := len(e.calls)
	for _, p := range m.Parts {
		if call, ok := e.calls[p.GetToolResult().GetToolCallId()]; ok && p.GetToolResult() != nil {
			order = call.order
			break
		}
	}
	t.groups = append(t.groups, resultGroup{order, parts})
}

func (t *resultTurn) flush(contents []content) []content {
	if len(t.groups) == 0 {
		return contents
	}
	slices.SortStableFunc(t.groups, func(a, b resultGroup) int { return a.order - b.order })
	c := content{Role: "user"}
	for _, g := range t.groups {
		c.Parts = append(c.Parts, g.parts...)
	}
	t.groups = nil
	if len(c.Parts) == 0 {
		return contents
	}
	return append(contents, c)
}

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
	if foreign(s) && !e.answer && s.Protocol != genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		e.losses.Add(path, "only the upstream that made it can read it")
		return ""
	}
	return codec.SealText(s, protocol, true)
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
	case codec.IsCustom(call):
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
