package responses

import (
	"cmp"
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

// EncodeRequest writes the body of POST /v1/responses for an upstream.
func (Codec) EncodeRequest(req *codec.Request, losses *codec.Losses) ([]byte, error) {
	if err := reserves(req.GenerateTextRequest); err != nil {
		return nil, err
	}
	if err := refuseBackground(req.NativeFields); err != nil {
		return nil, err
	}
	fitted, err := fit.Request(req.GenerateTextRequest, protocol, losses)
	if err != nil {
		return nil, err
	}
	named := losses
	if req.Compact {
		named = nil // a compaction is no answer that settings could shape
	}
	if err := omitSettings(fitted, named); err != nil {
		return nil, err
	}
	if fitted != req.GenerateTextRequest {
		req = &codec.Request{GenerateTextRequest: fitted, Stream: req.Stream, IncludeUsage: req.IncludeUsage}
	}
	if req.Compact {
		return encodeCompact(req.GenerateTextRequest, losses)
	}
	w := member.NewWriter(member.SizeOfRequest(req.GenerateTextRequest))
	w.Strict()
	w.Begin()
	w.Str("model", req.Model)
	if err := encodeConversation(w, req.GenerateTextRequest, losses); err != nil {
		return nil, err
	}
	natives, err := encodeSettings(w, req.GenerateTextRequest, losses)
	if err != nil {
		return nil, err
	}
	var s settings
	s.encode(req.GenerateTextRequest, losses)
	s.writeMembers(w)
	if natives, err = encodeInclude(w, natives, req.Sampling.GetLogprobs()); err != nil {
		return nil, err
	}
	if req.Stream {
		w.Bool("stream", true)
	}
	extra, err := member.Extra(protocol, natives, "", losses)
	if err != nil {
		return nil, err
	}
	w.Spliced(extra)
	w.End()
	return patched(w, req.ExtraJson)
}

// encodeSettings writes tools, their choice, text and reasoning, and returns the
// native fields that are left for the top level.
func encodeSettings(w *member.Writer, req *genwayv1.GenerateTextRequest, losses *codec.Losses) ([]*genwayv1.NativeField, error) {
	if err := encodeTools(w, req, losses, false); err != nil {
		return nil, err
	}
	if err := encodeToolChoice(w, req); err != nil {
		return nil, err
	}
	natives, ofText := split(req.NativeFields, "text.")
	if err := encodeText(w, req, req.ResponseFormat, ofText, losses); err != nil {
		return nil, err
	}
	return natives, encodeReasoning(w, req.Thinking, losses)
}

const noPlace = "the target protocol has no place for it"

// encodeInclude joins what the caller included with the log probabilities.
func encodeInclude(w *member.Writer, natives []*genwayv1.NativeField, logprobs bool) ([]*genwayv1.NativeField, error) {
	rest, include := without(natives, "include")
	if include == nil && !logprobs {
		return rest, nil
	}
	w.Key("include")
	if include == nil {
		w.BeginList()
	} else {
		if k := jsontext.Value(include.Json).Kind(); k != '[' {
			return nil, fault.Invalid("include", "include: expected an array")
		}
		w.Piece(include.Json[:len(include.Json)-1])
	}
	if logprobs {
		w.String(includeLogprobs)
	}
	w.EndList()
	return rest, nil
}

// written returns a request that was written, unless JSON of others in it is none, or stands
// in for a member that was admitted with another value.
func written(w *member.Writer) ([]byte, error) {
	body, err := w.FinishChecked()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		f := fault.Wrap(err, fault.InvalidRequest, fault.ReasonInvalidMember, "the request cannot be written as JSON")
		f.Param = member.Path(string(syntax.JSONPointer))
		return nil, f
	}
	return body, err
}

// reserved are the members of a body that fields of the contract are written to.
var reserved = member.ReservedBy[wireRequest]()

// reserves refuses native fields that say what the contract has a field for. include has
// more words than the one that stands for log probabilities.
func reserves(req *genwayv1.GenerateTextRequest) error {
	if err := reserved.Fields(protocol, req.GetNativeFields(), "", "include"); err != nil {
		return err
	}
	return reserved.In("reasoning").Fields(protocol, req.GetThinking().GetNativeFields(), "thinking")
}

// patched merges the caller's own members into the top level.
func patched(w *member.Writer, extra string) ([]byte, error) {
	body, err := written(w)
	if err != nil {
		return nil, err
	}
	if extra == "" {
		return body, nil
	}
	if body, err = member.Merge(body, extra, "extra_json", reserved); err != nil {
		return nil, err
	}
	return body, refuseExtraBackground(body)
}

// inputEncoder writes the messages of a request as input items.
type inputEncoder struct {
	w      *member.Writer
	losses *codec.Losses
	// compact says that the operation is a compaction.
	compact bool
}

// roleWords is the inverse of roles; results in a tool turn are items, and what
// else stands there speaks for the user.
var roleWords = map[genwayv1.Role]string{
	genwayv1.Role_ROLE_USER:      "user",
	genwayv1.Role_ROLE_TOOL:      "user",
	genwayv1.Role_ROLE_SYSTEM:    "system",
	genwayv1.Role_ROLE_DEVELOPER: "developer",
	genwayv1.Role_ROLE_ASSISTANT: "assistant",
}

func (e *inputEncoder) message(index int, m *genwayv1.Message) error {
	if leavesOut(m) {
		return nil
	}
	path := member.Index("messages", index)
	if _, ok := roleWords[m.Role]; !ok {
		return fault.Unsupported(path+".role", "%s.role: the upstream this model is routed to does not know this role", path)
	}
	if m.Name != "" {
		e.losses.Add(path+".name", noPlace)
	}
	if m.Role == genwayv1.Role_ROLE_ASSISTANT {
		if _, err := member.Extra(protocol, foreign(m.NativeFields), path, e.losses); err != nil {
			return err
		}
		return e.assistant(index, m.Parts)
	}
	return e.given(index, m)
}

// skipped reports whether all content of a part of another protocol is in canonical fields
// as well.
func skipped(p *genwayv1.Part) bool {
	return member.Lifted(p) && p.GetOpaque().GetProtocol() != protocol
}

// leavesOut reports whether a message is nothing but such parts.
func leavesOut(m *genwayv1.Message) bool {
	return len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p *genwayv1.Part) bool { return !skipped(p) })
}

// foreign returns the fields of other protocols.
func foreign(fields []*genwayv1.NativeField) []*genwayv1.NativeField {
	var out []*genwayv1.NativeField
	for _, f := range fields {
		if f.Protocol != protocol {
			out = append(out, f)
		}
	}
	return out
}

// given writes a turn that is not the assistant's: each tool result is an item,
// what stands between them a message.
func (e *inputEncoder) given(index int, m *genwayv1.Message) error {
	path := member.Index("messages", index)
	if len(m.Parts) == 0 && m.Role != genwayv1.Role_ROLE_TOOL {
		return e.givenMessage(path, m, 0, 0)
	}
	start := 0
	for i, part := range m.Parts {
		if isTrigger(part) {
			if !e.compact { // the path says it
				e.w.Begin()
				e.w.Str("type", typeTrigger)
				e.w.End()
			}
			start = i + 1
			continue
		}
		if part.GetToolResult() == nil && (part.GetOpaque() == nil || m.Role != genwayv1.Role_ROLE_TOOL) {
			continue
		}
		if start < i {
			if err := e.givenMessage(path, m, start, i); err != nil {
				return err
			}
		}
		start = i + 1
		if skipped(part) {
			continue
		}
		if err := e.ownItem(index, i, part); err != nil {
			return err
		}
	}
	if start < len(m.Parts) {
		return e.givenMessage(path, m, start, len(m.Parts))
	}
	return nil
}

func (e *inputEncoder) givenMessage(path string, m *genwayv1.Message, start, end int) error {
	extra, err := member.Extra(protocol, m.NativeFields, path, e.losses)
	if err != nil {
		return err
	}
	e.w.Begin()
	e.w.Str("type", typeMessage)
	if start < end && !IsSyntheticID(m.Parts[start].Id) {
		e.w.StrOpt("id", m.Parts[start].Id)
	}
	e.w.Str("role", roleWords[m.Role])
	if text, ok := plainText(m.Parts[start:end]); ok {
		e.w.Str("content", text)
	} else {
		e.w.List("content")
		for i := start; i < end; i++ {
			if skipped(m.Parts[i]) {
				continue
			}
			if err := e.content(m.Parts[i], member.Index(member.Join(path, "parts"), i)); err != nil {
				return err
			}
		}
		e.w.EndList()
	}
	e.w.Spliced(extra)
	e.w.End()
	return nil
}

// ownItem writes a part that is an item by itself.
func (e *inputEncoder) ownItem(index, i int, part *genwayv1.Part) error {
	path := member.Index(member.Index("messages", index)+".parts", i)
	natives, status := without(part.NativeFields, "status")
	extra, err := member.Extra(protocol, natives, path, e.losses)
	if err != nil {
		return err
	}
	id := part.Id
	if IsSyntheticID(id) {
		id = ""
	}
	switch k := part.Kind.(type) {
	case *genwayv1.Part_ToolResult:
		return e.result(k.ToolResult, part, path, id, textIn(status), extra)
	case *genwayv1.Part_ToolCall:
		callID := k.ToolCall.Id
		e.w.Begin()
		encodeCall(e.w, k.ToolCall, spaces(nil).place(part.NativeFields, k.ToolCall.Name), id, callID, textIn(status))
	case *genwayv1.Part_Image:
		data, ok := k.Image.GetSource().(*genwayv1.Media_Data)
		if !ok {
			return fault.Unsupported(path+".image", "%s.image: the upstream this model is routed to takes drawn images by their bytes only", path)
		}
		e.w.Begin()
		encodeImageCall(e.w, k.Image, data.Data, id, cmp.Or(textIn(status), statusCompleted))
	case *genwayv1.Part_Opaque:
		if k.Opaque.Protocol != protocol {
			return unknownPart(path, k.Opaque.Type)
		}
		raw := k.Opaque.Json
		if hasSyntheticID(raw) {
			var err error
			if raw, err = member.Patch(raw, member.Member{Name: "id"}); err != nil {
				return err
			}
		}
		e.w.Value(raw)
		return nil
	default:
		return unsupportedPart(path, part)
	}
	e.w.Spliced(extra)
	e.w.End()
	return nil
}

func unknownPart(path, kind string) error {
	return fault.Unsupported(path+".opaque", "%s: the upstream this model is routed to does not know content of type %q", path, kind)
}

func unsupportedPart(path string, part *genwayv1.Part) error {
	name := kindName(part)
	path = member.Join(path, name)
	return fault.Unsupported(path, "%s: the upstream this model is routed to does not take %s here", path, name)
}

// kindName is the canonical name of a part's kind.
func kindName(part *genwayv1.Part) string {
	m := part.ProtoReflect()
	if f := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind")); f != nil {
		return string(f.Name())
	}
	return "kind"
}

// encodeConversation writes the input; the system text that leads the
// conversation is the instructions, unless there is nothing else to put in.
func encodeConversation(w *member.Writer, req *genwayv1.GenerateTextRequest, losses *codec.Losses) error {
	e := inputEncoder{w: w, losses: losses, compact: req.Compact}
	first, all := 0, codec.Pair(req.Messages, nil)
	if len(req.Messages) > 0 {
		if text, ok := instructions(req.Messages[0]); ok && (len(req.Messages) > 1 || bringsConversation(req)) {
			w.Str("instructions", text)
			first = 1
		}
	}
	rest := all[first:]
	if len(rest) == 0 && bringsConversation(req) {
		return nil
	}
	w.Key("input")
	if len(rest) == 1 && rest[0].Role == genwayv1.Role_ROLE_USER && rest[0].Name == "" && len(rest[0].NativeFields) == 0 {
		if text, ok := plainText(rest[0].Parts); ok && rest[0].Parts[0].Id == "" {
			w.String(text)
			return nil
		}
	}
	w.BeginList()
	for i, m := range rest {
		if err := e.message(first+i, m); err != nil {
			return err
		}
	}
	w.EndList()
	return nil
}

func bringsConversation(req *genwayv1.GenerateTextRequest) bool {
	for _, name := range conversational {
		if member.Native(protocol, req.NativeFields, name) != nil {
			return true
		}
	}
	return false
}

// instructions returns the text of a system message that is nothing but text.
func instructions(m *genwayv1.Message) (string, bool) {
	if m.Role != genwayv1.Role_ROLE_SYSTEM || m.Name != "" || len(m.NativeFields) > 0 {
		return "", false
	}
	text, ok := plainText(m.Parts)
	return text, ok && text != "" && m.Parts[0].Id == ""
}

// plainText returns the text of content that is one text without any more to it.
func plainText(parts []*genwayv1.Part) (string, bool) {
	if len(parts) != 1 {
		return "", false
	}
	p := parts[0]
	t := p.GetText()
	if t == nil || len(t.Citations) > 0 || len(t.Logprobs) > 0 || p.CacheControl != nil || p.ThoughtSignature != nil || len(p.NativeFields) > 0 {
		return "", false
	}
	return t.Text, true
}

// item is one decoded item of input or output.
type item struct {
	role    genwayv1.Role
	parts   []*genwayv1.Part
	natives []*genwayv1.NativeField
	// bare is an assistant message without an id: only its message distinguishes
	// it from the next.
	bare bool
	// thought is a signature that belongs to the part behind, or when it is late to
	// the one before (see reasoning.go).
	thought *genwayv1.Seal
	late    bool
	// tools are those the item brings.
	tools []*genwayv1.Tool
}

// turns gathers items to messages: neighbouring items of the assistant are one
// message, and so are neighbouring tool results.
type turns struct {
	messages []*genwayv1.Message
	bare     bool
	// thought is the signature of the next item.
	thought *genwayv1.Seal
}

func (t *turns) add(it item) {
	last := t.last()
	if it.thought != nil {
		if n := len(last.GetParts()); !it.late {
			t.thought = it.thought
		} else if n > 0 && last.Role == genwayv1.Role_ROLE_ASSISTANT {
			last.Parts[n-1].ThoughtSignature = it.thought
		}
		return
	}
	if it.role == genwayv1.Role_ROLE_ASSISTANT && len(it.parts) > 0 && t.thought != nil {
		it.parts[0].ThoughtSignature = t.thought
	}
	t.thought = nil
	if it.role == genwayv1.Role_ROLE_ASSISTANT || it.role == genwayv1.Role_ROLE_TOOL {
		if len(it.parts) == 0 {
			return
		}
		if last.GetRole() == it.role && (!t.bare || !it.bare) {
			last.Parts = append(last.Parts, it.parts...)
			t.bare = it.bare
			return
		}
	}
	t.bare = it.bare
	t.messages = append(t.messages, &genwayv1.Message{Role: it.role, Parts: it.parts, NativeFields: it.natives})
}

func (t *turns) last() *genwayv1.Message {
	if len(t.messages) == 0 {
		return nil
	}
	return t.messages[len(t.messages)-1]
}

// Here are the items that are written the same in requests and in answers.

// encodeReasoningItem writes a reasoning item whole; summary says that its text is
// written as a summary.
func encodeReasoningItem(w *member.Writer, t *genwayv1.Thinking, summary bool, id string, natives []*genwayv1.NativeField, path string, losses *codec.Losses) {
	natives, content := without(natives, "content")
	natives, summaries := without(natives, "summary")
	if summary {
		t = asSummary(t)
	}
	w.Begin()
	w.StrOpt("id", id)
	w.Str("type", typeReasoning)
	if summaries != nil {
		w.Raw("summary", summaries.Json)
	} else {
		w.List("summary")
		for _, text := range t.GetSummary() {
			encodeLine(w, typeSummaryText, text)
		}
		w.EndList()
	}
	switch {
	case content != nil:
		w.Raw("content", content.Json)
	case t.GetText() != "":
		w.List("content")
		encodeLine(w, typeReasoningText, t.Text)
		w.EndList()
	}
	w.StrOpt("encrypted_content", sealedText(t, summary))
	w.Spliced(extras(natives, path, losses))
	w.End()
}

const (
	typeSummaryText   = "summary_text"
	typeReasoningText = "reasoning_text"
)

func encodeLine(w *member.Writer, kind, text string) {
	w.Begin()
	w.Str("type", kind)
	w.Str("text", text)
	w.End()
}

// encodeCall writes the members of a tool call after the opening brace. A call
// of a function without arguments has {} (case T10), unless it is incomplete.
func encodeCall(w *member.Writer, call *genwayv1.ToolCall, at spaced, id, callID, status string) {
	w.StrOpt("id", id)
	if codec.IsCustom(call) {
		w.Str("type", typeCustomCall)
		w.StrOpt("status", status)
		w.Str("input", call.GetInput())
	} else {
		w.Str("type", typeFunctionCall)
		w.StrOpt("status", status)
		if status == statusIncomplete {
			w.Str("arguments", call.GetArgumentsJson())
		} else {
			w.Str("arguments", arguments(call))
		}
	}
	w.Str("call_id", callID)
	w.StrOpt("namespace", at.space)
	w.Str("name", at.name)
}

func arguments(call *genwayv1.ToolCall) string {
	if call.GetArgumentsJson() == "" {
		return noArguments
	}
	return call.GetArgumentsJson()
}

// encodeImageCall writes the members of a drawn image after the opening brace.
func encodeImageCall(w *member.Writer, m *genwayv1.Media, data []byte, id, status string) {
	w.StrOpt("id", id)
	w.Str("type", typeImageCall)
	w.Str("status", status)
	if format, ok := strings.CutPrefix(m.MimeType, "image/"); ok {
		w.StrOpt("output_format", format)
	}
	w.Base64("result", data)
}
