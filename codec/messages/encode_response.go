package messages

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

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
	w := answerWriter(member.SizeOfResponse(resp))
	w.Begin()
	w.opening(resp)
	w.List("content")
	how := ending{reason: candidate.GetStopReason(), native: candidate.GetNativeStopReason()}
	for i, p := range parts {
		if i == len(parts)-1 && codec.Cut(how.reason) && (broken(p.GetToolCall()) || codec.WithoutArguments(p)) {
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

// broken reports whether the arguments of a call have no place in its input.
func broken(call *genwayv1.ToolCall) bool {
	return call != nil && call.Input == nil && !codec.AreNone(call.GetArgumentsJson()) && !codec.AreObject(call.GetArgumentsJson())
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
