package messages

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeResponse reads a Message. For a body that is an error it returns that error.
func (c Codec) DecodeResponse(body []byte) (*genwayv1.GenerateTextResponse, error) {
	var w wireResponse
	if err := member.DecodeLoose(body, &w, "usage"); err != nil {
		return nil, err
	}
	if w.failed() {
		return nil, c.DecodeError(0, body)
	}
	if w.Type != "message" && w.Content == nil {
		return nil, fault.MalformedAnswer(nil)
	}
	if w.StopReason == "" {
		return nil, unfinished(w.Usage.canonical(w.Model))
	}
	resp := w.canonical()
	candidate := &genwayv1.Candidate{NativeStopReason: w.StopReason, StopSequence: w.StopSequence}
	candidate.StopReason, candidate.StopMessage, candidate.NativeFields = decodeStop(w.StopReason, w.StopDetails)
	var err error
	if candidate.Parts, err = decodeBlocks(w.Content, "content", decodeBlock); err != nil {
		return nil, fault.MalformedAnswer(err)
	}
	if n := len(candidate.Parts); n > 0 && codec.Cut(candidate.StopReason) {
		if call := candidate.Parts[n-1].GetToolCall(); call != nil && isEmptyObject(call.GetArgumentsJson()) {
			call.Arguments = nil // the vendor has an empty input where nothing of it has come
		}
	}
	resp.Candidates = []*genwayv1.Candidate{candidate}
	return resp, nil
}

// unfinished is the failure of an answer without a stop_reason. The vendor's SDK documents that it is null
// only in message_start, and that a unary answer has one.
func unfinished(usage *genwayv1.Usage) *fault.Error {
	err := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is not finished: it has no stop_reason")
	err.Usage = usage
	return err
}

// failed reports whether an error stands in the place of the answer.
func (w *wireResponse) failed() bool { return w.Type == "error" || w.Error.Kind() == '{' }

// canonical returns what message_start and a whole answer share.
func (w *wireResponse) canonical() *genwayv1.GenerateTextResponse {
	resp := &genwayv1.GenerateTextResponse{
		Id: w.ID, Model: w.Model, Usage: w.Usage.canonical(w.Model), NativeFields: natives(w.Extra),
	}
	if w.Usage != nil {
		resp.ServiceTier = w.Usage.ServiceTier
	}
	if edits := appliedEdits(w.ContextManagement); edits != nil {
		resp.NativeFields = append(resp.NativeFields, edits)
	}
	return resp
}

// appliedEdits keeps context_management unless it says that nothing was done.
func appliedEdits(raw jsontext.Value) *genwayv1.NativeField {
	if raw.Kind() != '{' {
		return nil
	}
	fields := natives(raw)
	if len(fields) == 0 || len(fields) == 1 && fields[0].Name == "applied_edits" && emptyList(fields[0].Json) {
		return nil
	}
	return whole("context_management", raw)
}

func emptyList(raw jsontext.Value) bool {
	compact := append(jsontext.Value{}, raw...)
	return compact.Compact() == nil && string(compact) == "[]"
}

// EncodeResponse writes a Message with every member of the vendor's types. Of
// several candidates it writes the first: the protocol has one answer.
func (Codec) EncodeResponse(resp *genwayv1.GenerateTextResponse, to codec.Answer) ([]byte, error) {
	fit.UnplacedInAnswer(resp, protocol, to.Losses)
	var parts []*genwayv1.Part
	candidate := &genwayv1.Candidate{}
	if len(resp.GetCandidates()) > 0 {
		candidate = resp.Candidates[0]
		parts = candidate.GetParts()
	}
	if len(resp.GetCandidates()) > 1 {
		to.Losses.Add("candidates", "the messages protocol has one answer")
	}
	w := answerWriter(member.SizeOfResponse(resp, 512))
	w.Begin()
	w.opening(resp)
	w.List("content")
	how := ending{reason: candidate.GetStopReason(), native: candidate.GetNativeStopReason()}
	for i, p := range parts {
		if i == len(parts)-1 && codec.Cut(how.reason) && (codec.IsBroken(p.GetToolCall()) || codec.WithoutArguments(p)) {
			to.Losses.Add(member.Index("candidates[0].parts", i)+".tool_call", codec.CutCall)
			break
		}
		a := answerPart{Part: p, path: member.Index("candidates[0].parts", i), callID: callID(p, resp.GetId(), i)}
		w.answerBlock(a, to.Losses)
		how.calls = how.calls || p.GetToolCall() != nil
		how.refusals = how.refusals || p.GetRefusal() != nil
	}
	w.EndList()
	stop := blocked(resp.GetPromptFeedback(), how, candidate.GetStopMessage(), candidate.GetNativeFields())
	w.stopReason(stop)
	w.StrOrNull("stop_sequence", candidate.StopSequence)
	w.stopDetails(stop.word, stop.message, candidate.GetNativeFields(), to.Losses)
	if native(resp.GetNativeFields(), "context_management") == nil {
		w.noEdits()
	}
	w.usage(resp.GetUsage(), resp.GetServiceTier())
	w.nullUnless(resp.GetNativeFields(), "container", "diagnostics")
	w.natives(resp.GetNativeFields(), "", to.Losses)
	w.End()
	tellLost(candidate.GetNativeFields(), "candidates[0]", to.Losses)
	return w.Finish()
}

// opening writes the members an answer and message_start begin with.
func (w *writer) opening(resp *genwayv1.GenerateTextResponse) {
	w.Str("id", messageID(resp))
	w.Str("type", "message")
	w.Str("role", "assistant")
	w.Str("model", resp.GetModel())
}

// messageID is the answer's own identifier; one derived from what is known of the
// answer when its upstream gave none.
func messageID(resp *genwayv1.GenerateTextResponse) string {
	if resp.GetId() != "" {
		return resp.GetId()
	}
	h := fnv.New64a()
	h.Write(strconv.AppendInt([]byte(resp.GetModel()), resp.GetCreateTime().AsTime().UnixNano(), 10))
	return fmt.Sprintf("msg_%016x", h.Sum64())
}

func (w *writer) noEdits() {
	w.Object("context_management")
	w.List("applied_edits")
	w.EndList()
	w.End()
}

// nullUnless writes the vendor's required but nullable members that are not set.
func (w *writer) nullUnless(fields []*genwayv1.NativeField, names ...string) {
	for _, name := range names {
		if native(fields, name) == nil {
			w.Null(name)
		}
	}
}

// tellLost names the native fields of other protocols in losses.
func tellLost(fields []*genwayv1.NativeField, path string, losses *codec.Losses) {
	for _, f := range fields {
		if f.Protocol != protocol && !member.IsMark(f) {
			losses.Add(member.Join(path, f.Name), "the messages protocol has no place for it")
		}
	}
}

// stop is how an answer ends on the wire.
type stop struct{ word, message, beside string }

// stopReason writes stop_reason, and the upstream's own word beside it where that says more.
func (w *writer) stopReason(s stop) {
	w.Str(stopReasonName, s.word)
	w.StrOpt("native_stop_reason", s.beside)
}

// blocked is the ending of an answer, which is a refusal when the prompt itself
// was blocked and nothing was answered.
func blocked(feedback *genwayv1.PromptFeedback, how ending, message string, fields []*genwayv1.NativeField) stop {
	if feedback == nil || how.reason != genwayv1.StopReason_STOP_REASON_UNSPECIFIED {
		word, beside := how.word(fields)
		return stop{word, message, beside}
	}
	return stop{word: "refusal", message: cmp.Or(feedback.GetMessage(), feedback.GetBlockReason())}
}

// callID is the identifier of a tool call, made up when the upstream gave none.
func callID(p *genwayv1.Part, response string, index int) string {
	switch call := p.GetToolCall(); {
	case call == nil:
		return ""
	case call.GetId() == "":
		return codec.SyntheticToolID(response, 0, int32(index))
	default:
		return codec.EncodeToolID(call.GetId())
	}
}

// Why parts of an answer are lost.
const (
	unshown    = "answers of the messages protocol hold text, thinking and tool calls only"
	oneSeal    = "thinking has one seal in the messages protocol"
	unciteable = "the messages protocol cannot express this citation"
)

func foreignOpaque(o *genwayv1.OpaquePart) string {
	return "content of another vendor (type " + o.GetType() + ") cannot be shown in the messages protocol"
}

// answerPart is a part of an answer, its canonical path, and the wire identifier
// of its tool call.
type answerPart struct {
	*genwayv1.Part
	path   string
	callID string
}

// answerBlock writes a part of an answer as an element: one block, none for what
// says nothing or what the protocol cannot show, or two where a thought signature
// of another vendor travels ahead of a call.
func (w *writer) answerBlock(p answerPart, losses *codec.Losses) {
	empty := p.GetText() != nil && p.GetText().Text == "" && len(p.GetText().Citations) == 0 ||
		p.GetRefusal() != nil && p.GetRefusal().Text == ""
	switch {
	case p.ThoughtSignature == nil:
	case p.GetToolCall() != nil:
		w.redacted(carrierData(p.ThoughtSignature, carrierNext))
	default:
		losses.Add(p.path+".thought_signature", unsigned)
	}
	if empty {
		return
	}
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Opaque:
		if k.Opaque.GetProtocol() == protocol {
			w.value(k.Opaque.Json, p.path)
			return
		}
		losses.Add(p.path+".opaque", foreignOpaque(k.Opaque))
	case *genwayv1.Part_Thinking:
		w.answerThinking(p, k.Thinking, losses)
	case *genwayv1.Part_ToolCall:
		w.Begin()
		w.callOpening(p)
		if !w.input(k.ToolCall) {
			w.Fail(codec.BrokenArguments(k.ToolCall.GetName()))
		}
		w.natives(p.NativeFields, p.path, losses)
		w.End()
	case *genwayv1.Part_Text, *genwayv1.Part_Refusal:
		w.Begin()
		w.Str("type", "text")
		w.Str("text", p.GetText().GetText()+p.GetRefusal().GetText())
		w.citations(p.GetText().GetCitations(), p.path+".text", losses)
		w.natives(p.NativeFields, p.path, losses)
		w.End()
	default:
		losses.Add(p.path, unshown)
	}
}

// callOpening writes the members of a tool_use block that are known when it opens.
func (w *writer) callOpening(p answerPart) {
	w.Str("type", "tool_use")
	w.Str("id", p.callID)
	w.Str("name", p.GetToolCall().GetName())
	if native(p.NativeFields, "caller") == nil {
		w.Object("caller")
		w.Str("type", "direct")
		w.End()
	}
}

// answerThinking writes a thinking or a redacted_thinking block. A signature is
// never made up: without one the member is left out (case R4).
func (w *writer) answerThinking(p answerPart, t *genwayv1.Thinking, losses *codec.Losses) {
	shown, seal := codec.ThinkingText(t), t.GetSignature()
	if seal == nil {
		seal = t.GetEncryptedContent()
	} else if t.GetEncryptedContent() != nil {
		losses.Add(p.path+".thinking.encrypted_content", oneSeal)
	}
	switch {
	case shown == "" && seal == nil:
	case shown == "" && t.GetSignature() == nil:
		w.Begin()
		w.Str("type", "redacted_thinking")
		w.Str("data", codec.SealText(seal, protocol, false))
		w.natives(p.NativeFields, p.path, losses)
		w.End()
	default:
		w.Begin()
		w.Str("type", "thinking")
		w.Str("thinking", shown)
		w.StrOpt("signature", codec.SealText(seal, protocol, false))
		w.natives(p.NativeFields, p.path, losses)
		w.End()
	}
}

func (w *writer) redacted(data string) {
	w.Begin()
	w.Str("type", "redacted_thinking")
	w.Str("data", data)
	w.End()
}
