package interactions

import (
	"errors"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// writer writes steps and what is within them.
type writer struct {
	*member.Writer
	losses *codec.Losses
	// answer says that a caller reads what is written, not an upstream: seals of other protocols travel in envelopes, and
	// what cannot be carried is left out and named instead of refused.
	answer bool
	// calls are the names of the calls of a request that were written, by their identifiers.
	calls map[string]string
}

// value writes an element or the value of a key as it is; path names it in the canonical message.
func (w *writer) value(value []byte, path string) {
	if !member.Valid(value) {
		w.Fail(fault.Invalid(path, "%s is not valid JSON", path))
		value = []byte("null")
	}
	w.Value(value)
}

// natives writes members without a canonical field into the open object.
func (w *writer) natives(fields []*genwayv1.NativeField, path string) {
	if len(fields) == 0 {
		return
	}
	extra, err := member.Extra(protocol, fields, path, w.losses)
	if err != nil {
		w.Fail(err)
		return
	}
	w.Members(extra)
}

// refuse is for what bears on the answer and cannot be carried. It returns false.
func (w *writer) refuse(path, why string) bool {
	if w.answer {
		w.losses.Add(path, why)
	} else {
		w.Fail(fault.Unsupported(path, "%s: %s", path, why))
	}
	return false
}

// EncodeRequest writes the body of POST /v1beta/interactions.
func (Codec) EncodeRequest(req *codec.Request, losses *codec.Losses) ([]byte, error) {
	if err := reserves(req.GenerateTextRequest); err != nil {
		return nil, err
	}
	if form.Background(req.GenerateTextRequest) {
		return nil, fault.Invalid(memberBackground, "background: must be false here; an interaction in the background is created by POST /v1beta/interactions")
	}
	r, err := fit.Request(req.GenerateTextRequest, protocol, losses)
	if err != nil {
		return nil, err
	}
	if err := omitSettings(r, losses); err != nil {
		return nil, err
	}
	w := &writer{Writer: member.NewWriter(member.SizeOfRequest(r)), losses: losses, calls: map[string]string{}}
	w.Begin()
	w.Str("model", r.GetModel())
	w.conversation(r)
	w.tools(r.GetTools())
	config, own := split(r.GetNativeFields(), configPrefix)
	w.config(r, config)
	w.format(r.GetResponseFormat())
	var s settings
	s.encode(r, losses)
	s.writeMembers(w.Writer)
	if req.Stream {
		w.Bool("stream", true)
	}
	w.natives(own, "")
	w.End()
	body, err := w.Finish()
	if _, known := errors.AsType[*fault.Error](err); err != nil && !known {
		err = fault.Wrap(err, fault.InvalidRequest, fault.ReasonInvalidMember, "the request has JSON text that cannot be written into a body")
	}
	if err != nil {
		return nil, err
	}
	return member.Merge(body, r.GetExtraJson(), "extra_json", reserved)
}

// reserved are the members of a body that fields of the contract are written to.
var reserved = member.ReservedBy[request]()

// reserves refuses native fields that say what the contract has a field for. Formats and types of answers that the contract does
// not know are written as they are.
func reserves(r *genwayv1.GenerateTextRequest) error {
	if err := reserved.Fields(protocol, r.GetNativeFields(), "", "response_format", "response_mime_type"); err != nil {
		return err
	}
	return reserved.In("generation_config").Fields(protocol, r.GetThinking().GetNativeFields(), "thinking", "thinking_summaries")
}

// config writes generation_config, if there is anything to say.
func (w *writer) config(r *genwayv1.GenerateTextRequest, fields []*genwayv1.NativeField) {
	inner := &writer{Writer: member.NewWriter(256), losses: w.losses}
	inner.Begin()
	var s generationConfigSettings
	s.encode(r, w.losses)
	s.writeMembers(inner.Writer)
	inner.thinking(r.GetThinking())
	inner.toolChoice(r)
	inner.natives(fields, "generation_config")
	inner.End()
	raw, err := inner.Finish()
	switch {
	case err != nil:
		w.Fail(err)
	case len(raw) > len("{}"):
		w.Raw("generation_config", raw)
	}
}

// conversation writes system_instruction and the input. All system text goes into the former.
func (w *writer) conversation(r *genwayv1.GenerateTextRequest) {
	var system []string
	steps := 0
	w.List("input")
	for i, m := range codec.Pair(r.GetMessages(), nil) {
		if member.AllLifted(m) {
			continue
		}
		path := member.Index("messages", i)
		if m.GetName() != "" {
			w.losses.Add(path+".name", "the target protocol does not name speakers")
		}
		switch m.GetRole() {
		case genwayv1.Role_ROLE_SYSTEM, genwayv1.Role_ROLE_DEVELOPER:
			said := w.system(m, path)
			if steps > 0 && len(said) > 0 {
				w.losses.Add(path, "the target protocol says all system text before the conversation")
			}
			system = append(system, said...)
		case genwayv1.Role_ROLE_USER:
			steps += w.user(m, path)
		case genwayv1.Role_ROLE_ASSISTANT, genwayv1.Role_ROLE_TOOL:
			for j, p := range m.GetParts() {
				steps += w.part(p, member.Within(path, ".parts", j))
			}
			w.unplaced(m, path)
		default:
			w.Fail(fault.Unsupported(path+".role", "%s.role: the target protocol knows no such role", path))
		}
	}
	w.EndList()
	if steps == 0 && !continues(r.GetNativeFields()) {
		w.Fail(fault.Unsupported("messages", "messages: the target protocol needs a message that is not system text"))
	}
	w.StrOpt("system_instruction", strings.Join(system, "\n\n"))
}

// unplaced names the members of a message that becomes steps of its parts.
func (w *writer) unplaced(m *genwayv1.Message, path string) {
	for _, f := range m.GetNativeFields() {
		at := member.Join(path, f.GetName())
		switch {
		case member.IsMark(f):
		case f.GetBinding():
			w.Fail(fault.Unsupported(at, "%s cannot be carried to the upstream this model is routed to", at))
		default:
			w.losses.Add(at, noPlace)
		}
	}
}

// system returns the texts of a message of the system.
func (w *writer) system(m *genwayv1.Message, path string) (said []string) {
	w.unplaced(m, path)
	for j, p := range m.GetParts() {
		at := member.Within(path, ".parts", j)
		switch {
		case member.Lifted(p):
		case p.GetText() == nil && p.GetRefusal() == nil:
			w.refuse(at, "system text of the target protocol is text alone")
		default:
			w.beside(p, at)
			for _, f := range p.GetNativeFields() {
				if err := member.OmitNative(f, at, w.losses); err != nil {
					w.Fail(err)
				}
			}
			if p.GetText().GetText() != "" {
				said = append(said, p.GetText().GetText())
			}
		}
	}
	return said
}

// beside names what a part has that no step has.
func (w *writer) beside(p *genwayv1.Part, path string) {
	if p.GetCacheControl() != nil && !w.answer {
		w.losses.Add(path+".cache_control", unbroken)
	}
	if p.GetThoughtSignature() != nil && p.GetToolCall() == nil {
		w.losses.Add(path+".thought_signature", "the target protocol has signatures of thoughts and calls alone")
	}
	if !w.answer && len(p.GetText().GetCitations()) > 0 && foreignCitations(p.GetText().GetCitations()) {
		w.losses.Add(path+".text.citations", "the citations were made by another vendor")
	}
}

func foreignCitations(list []*genwayv1.Citation) bool {
	for _, c := range list {
		if c.GetNative().GetProtocol() != protocol {
			return true
		}
	}
	return false
}

// user writes the turn of a user, and returns the number of its steps. Results of functions are steps of their own, before all else.
func (w *writer) user(m *genwayv1.Message, path string) (steps int) {
	var rest []int
	for j, p := range m.GetParts() {
		switch {
		case member.Lifted(p):
		case p.GetToolResult() != nil:
			steps += w.part(p, member.Within(path, ".parts", j))
		case says(p):
			rest = append(rest, j)
		}
	}
	if len(rest) == 0 && (steps > 0 || len(m.GetParts()) == 0 || m.GetParts()[0].GetText() == nil) {
		w.unplaced(m, path)
		return steps
	}
	w.Begin()
	w.Str("type", userInput)
	w.List("content")
	if len(rest) == 0 { // a step needs content
		w.Begin()
		w.Str("type", "text")
		w.Str("text", "")
		w.End()
	}
	for _, j := range rest {
		p, at := m.GetParts()[j], member.Within(path, ".parts", j)
		w.beside(p, at)
		w.content(p, p.GetNativeFields(), at)
	}
	w.EndList()
	w.natives(m.GetNativeFields(), path)
	w.End()
	return steps + 1
}

// says reports whether a part is more than an empty text (cases T2 and F12).
func says(p *genwayv1.Part) bool {
	if len(p.GetNativeFields()) > 0 {
		return true
	}
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		return k.Text.GetText() != ""
	case *genwayv1.Part_Refusal:
		return k.Refusal.GetText() != ""
	}
	return p.GetKind() != nil
}

// content writes a part as an element of a content list. One without a place there is named, or refused.
func (w *writer) content(p *genwayv1.Part, fields []*genwayv1.NativeField, path string) {
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text, *genwayv1.Part_Refusal:
		w.Begin()
		w.Str("type", "text")
		said := p.GetText().GetText() + p.GetRefusal().GetText()
		w.Str("text", said)
		if cited := p.GetText().GetCitations(); w.answer || !foreignCitations(cited) {
			w.annotations(cited, said, path+".text.citations")
		}
	case *genwayv1.Part_Image, *genwayv1.Part_Audio, *genwayv1.Part_Video, *genwayv1.Part_File:
		if !w.sourced(p, path) {
			return
		}
		w.Begin()
		w.media(p, path)
	case *genwayv1.Part_Opaque:
		if k.Opaque.GetProtocol() != protocol {
			w.refuse(path+".opaque", "content of the kind "+k.Opaque.GetType()+" has no form in the target protocol")
			return
		}
		w.value(k.Opaque.GetJson(), path+".opaque")
		return
	default:
		w.refuse(path, "the target protocol has no such content")
		return
	}
	w.natives(fields, path)
	w.End()
}

// part writes a part that is no content of a user as a step, and returns the number of steps that it became.
func (w *writer) part(p *genwayv1.Part, path string) int {
	if member.Lifted(p) {
		return 0
	}
	w.beside(p, path)
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Thinking:
		return w.thought(p, path)
	case *genwayv1.Part_ToolCall:
		w.Begin()
		w.call(p, path)
		if arguments, ok := w.arguments(k.ToolCall, path); ok {
			w.Key("arguments")
			w.ValueText(arguments)
		}
		w.End()
	case *genwayv1.Part_ToolResult:
		w.result(p, k.ToolResult, path)
	case *genwayv1.Part_Opaque:
		if k.Opaque.GetProtocol() != protocol {
			w.refuse(path+".opaque", "content of the kind "+k.Opaque.GetType()+" has no form in the target protocol")
			return 0
		}
		w.value(k.Opaque.GetJson(), path+".opaque")
	case nil:
		return 0
	default:
		if !says(p) {
			return 0
		}
		return w.output(p, path)
	}
	return 1
}

// output writes a model_output with one content.
func (w *writer) output(p *genwayv1.Part, path string) int {
	if codec.MediaOf(p) != nil && !w.sourced(p, path) {
		return 0
	}
	ofStep, own := split(p.GetNativeFields(), stepPrefix)
	w.Begin()
	w.Str("type", modelOutput)
	w.List("content")
	w.content(p, own, path)
	w.EndList()
	w.natives(ofStep, path)
	w.End()
	return 1
}

// thought writes thinking as a thought, and returns the number of its steps: 0 if it says nothing. Of two seals the signature is written.
func (w *writer) thought(p *genwayv1.Part, path string) int {
	t := p.GetThinking()
	said := codec.ThinkingText(t)
	signature := w.seal(t.GetSignature(), path+".thinking.signature")
	if signature == "" {
		signature = w.seal(t.GetEncryptedContent(), path+".thinking.encrypted_content")
	} else if t.GetEncryptedContent() != nil {
		w.losses.Add(path+".thinking.encrypted_content", "a thought of the target protocol has one signature")
	}
	if said == "" && signature == "" && len(p.GetNativeFields()) == 0 {
		return 0
	}
	w.Begin()
	w.Str("type", thought)
	w.StrOpt("signature", signature)
	pieces, others := summaryPieces(p)
	if said != "" || len(pieces) > 0 {
		w.List("summary")
		if said != "" {
			w.Begin()
			w.Str("type", "text")
			w.Str("text", said)
			w.End()
		}
		for _, f := range pieces {
			w.value(f.GetJson(), path+"."+pieceMember)
		}
		w.EndList()
	}
	w.natives(others, path)
	w.End()
	return 1
}

// summaryPieces returns the native fields of a thought that are pieces of its summary, and the others.
func summaryPieces(p *genwayv1.Part) (pieces, others []*genwayv1.NativeField) {
	for _, f := range p.GetNativeFields() {
		if f.GetProtocol() == protocol && f.GetName() == pieceMember {
			pieces = append(pieces, f)
		} else {
			others = append(others, f)
		}
	}
	return pieces, others
}

// seal spells a seal. An upstream gets only those its own protocol made (case R7).
func (w *writer) seal(s *genwayv1.Seal, path string) string {
	if s == nil {
		return ""
	}
	if !w.answer && s.GetProtocol() != protocol && s.GetProtocol() != genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		w.losses.Add(path, "only the upstream that made it can read it")
		return ""
	}
	return codec.SealText(s, protocol, false)
}

// call writes the members of a function_call but for its arguments.
func (w *writer) call(p *genwayv1.Part, path string) {
	call := p.GetToolCall()
	w.Str("type", functionCall)
	w.Str("id", call.GetId())
	w.Str("name", call.GetName())
	w.StrOpt("signature", w.seal(p.GetThoughtSignature(), path+".thought_signature"))
	w.natives(p.GetNativeFields(), path)
	if w.calls != nil {
		w.calls[call.GetId()] = call.GetName()
	}
}

// arguments returns the arguments of a call. Those that are not one JSON object go as text into
// a request, and fail an answer.
func (w *writer) arguments(call *genwayv1.ToolCall, path string) (string, bool) {
	switch arguments := call.GetArgumentsJson(); {
	case codec.IsCustom(call):
		return codec.FreeFormArguments(call.GetInput()), true
	case codec.AreNone(arguments):
		return "{}", true
	case codec.AreObject(arguments):
		return arguments, true
	case w.answer:
		w.Fail(codec.BrokenArguments(call.GetName()))
		return "", false
	default:
		w.losses.Add(path+".tool_call.arguments_json", codec.WrappedArguments)
		return codec.TextArguments(arguments), true
	}
}

// result writes a function_result.
func (w *writer) result(p *genwayv1.Part, r *genwayv1.ToolResult, path string) {
	at := path + ".tool_result"
	if r.GetToolCallId() == "" {
		w.Fail(fault.Missing(at + ".tool_call_id"))
	}
	w.Begin()
	w.Str("type", functionResult)
	w.Str("call_id", r.GetToolCallId())
	name := r.GetName()
	if name == "" {
		name = w.calls[r.GetToolCallId()]
	}
	w.StrOpt("name", name)
	parts := r.GetParts()
	switch {
	case r.ResultJson != nil && codec.AreObject(r.GetResultJson()):
		w.Key("result")
		w.ValueText(r.GetResultJson())
		for i := range parts {
			w.losses.Add(member.Within(at, ".parts", i), "a result of the target protocol is an object or content, not both")
		}
	case r.ResultJson != nil:
		w.Str("result", r.GetResultJson())
	case len(parts) == 0:
		w.Str("result", "")
	case len(parts) == 1 && plain(parts[0]):
		w.beside(parts[0], member.Within(at, ".parts", 0))
		w.Str("result", parts[0].GetText().GetText())
	default:
		w.List("result")
		for i, inner := range parts {
			place := member.Within(at, ".parts", i)
			w.beside(inner, place)
			if inner.GetToolResult() != nil {
				w.Fail(fault.Unsupported(place, "%s: a tool result cannot be within another one", place))
				return
			}
			if !member.Lifted(inner) {
				w.content(inner, inner.GetNativeFields(), place)
			}
		}
		w.EndList()
	}
	if r.GetIsError() {
		w.Bool("is_error", true)
	}
	w.natives(p.GetNativeFields(), path)
	w.End()
}

// plain reports whether a part is nothing but a text.
func plain(p *genwayv1.Part) bool {
	return p.GetText() != nil && len(p.GetText().GetCitations()) == 0 && len(p.GetNativeFields()) == 0
}
