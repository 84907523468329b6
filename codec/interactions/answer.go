package interactions

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/google"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// DecodeResponse reads an Interaction. For one that has failed it returns the failure.
func (c Codec) DecodeResponse(body []byte) (*genwayv1.GenerateTextResponse, error) {
	var w interaction
	if err := member.DecodeLoose(body, &w, "usage", "errors"); err != nil {
		return nil, err
	}
	if present(w.Error) {
		return nil, c.DecodeError(0, body)
	}
	if w.Status == "" && w.Steps == nil {
		return nil, fault.MalformedAnswer(nil)
	}
	if err := w.failure(); err != nil {
		return nil, err
	}
	parts, err := decodeAnswer(w.Steps)
	if err != nil {
		return nil, fault.MalformedAnswer(err)
	}
	resp := w.canonical()
	end := w.end(parts)
	if n := len(parts); n > 0 && codec.Cut(end.StopReason) {
		if call := parts[n-1].GetToolCall(); call != nil && isEmptyObject(call.GetArgumentsJson()) {
			call.Arguments = nil // the protocol has an empty object where nothing of them has come
		}
	}
	resp.Candidates = []*genwayv1.Candidate{{
		Parts: parts, StopReason: end.StopReason, NativeStopReason: end.NativeStopReason, StopMessage: end.StopMessage, NativeFields: end.NativeFields,
	}}
	return resp, nil
}

// decodeAnswer reads the steps of an answer. Steps of the user repeat the request.
func decodeAnswer(steps []jsontext.Value) ([]*genwayv1.Part, error) {
	var parts []*genwayv1.Part
	for i, raw := range steps {
		place := member.Place{Path: "steps", Element: i + 1}
		if raw.Kind() != '{' {
			return nil, fault.Invalid(place.String(), "%s: expected an object", place)
		}
		kind := text(raw, "type")
		if kind == userInput {
			continue
		}
		more, err := decodeStep(kind, raw, place)
		if err != nil {
			return nil, err
		}
		for j, p := range more {
			if j > 0 && google.Continues(parts[len(parts)-1], p) {
				sound := parts[len(parts)-1].GetAudio()
				sound.Source = &genwayv1.Media_Data{Data: slices.Concat(sound.GetData(), p.GetAudio().GetData())}
			} else if says(p) {
				parts = append(parts, p)
			}
		}
	}
	return parts, nil
}

// The statuses that are no end of an answer.
const (
	inProgress = "in_progress"
	queued     = "queued"
	failed     = "failed"
	cancelled  = "cancelled"
)

// failure returns the failure of an interaction that has not come to the end of an answer; nil for one that has.
func (w *interaction) failure() error {
	var err *fault.Error
	switch w.Status {
	case failed:
		first := reported{}
		if len(w.Errors) > 0 {
			first = w.Errors[0]
		}
		err = failure(0, first.Code, cmp.Or(first.Message, "the upstream's interaction failed"))
	case cancelled:
		err = fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's interaction was cancelled")
	case inProgress, queued, "":
		err = fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is not finished: its status is %q", w.Status)
	default:
		return nil
	}
	err.Usage = w.Usage.canonical()
	return err
}

// canonical returns what an answer and its first event share.
func (w *interaction) canonical() *genwayv1.GenerateTextResponse {
	resp := &genwayv1.GenerateTextResponse{Id: w.ID, Model: w.Model, ServiceTier: w.ServiceTier, Usage: w.Usage.canonical()}
	resp.NativeFields = member.Natives(protocol, w.Extra, nil)
	var left *genwayv1.NativeField
	if resp.CreateTime, left = decodeTime("created", w.Created); left != nil {
		resp.NativeFields = append(resp.NativeFields, left)
	}
	if resp.CompleteTime, left = decodeTime("updated", w.Updated); left != nil {
		resp.NativeFields = append(resp.NativeFields, left)
	}
	return resp
}

// decodeTime reads a time; one that is no time stays a native field.
func decodeTime(name, text string) (*timestamppb.Timestamp, *genwayv1.NativeField) {
	if text == "" {
		return nil, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		if stamp := timestamppb.New(t); stamp.IsValid() {
			return stamp, nil
		}
	}
	return nil, native(name, member.AppendQuote(nil, text))
}

// errorsMember has what a status does not say.
const errorsMember = "errors"

// end reads how an interaction ended. Where the status only says that the answer was cut, the first of the errors says why,
// if its code is a word for a reason.
func (w *interaction) end(parts []*genwayv1.Part) *genwayv1.CandidateEnd {
	called := slices.ContainsFunc(parts, func(p *genwayv1.Part) bool { return p.GetToolCall() != nil })
	end := &genwayv1.CandidateEnd{StopReason: codec.StopReasonOf(w.Status), NativeStopReason: w.Status}
	if called && end.StopReason == genwayv1.StopReason_STOP_REASON_END_TURN { // as it occurs
		end.StopReason = genwayv1.StopReason_STOP_REASON_TOOL_CALL
	}
	if _, known := codec.VendorStopWord(protocol, w.Status); !known {
		end.NativeFields = append(end.NativeFields, member.Mark(protocol, "status"))
	}
	if len(w.Errors) > 0 {
		first := w.Errors[0]
		end.StopMessage = first.Message
		if first.Code != "" && end.StopReason == genwayv1.StopReason_STOP_REASON_MAX_TOKENS {
			end.StopReason, end.NativeStopReason = codec.StopReasonOf(first.Code), first.Code
		}
	}
	return end
}

// ending is how an answer ends on the wire.
type ending struct {
	status string
	// code and message make the answer's error; empty where the status says all.
	code, message string
}

// endingOf returns how an answer ends. calls reports that it has calls, and feedback is set for a prompt that was blocked.
func endingOf(end *genwayv1.CandidateEnd, feedback *genwayv1.PromptFeedback, calls bool) ending {
	reason, word := end.GetStopReason(), end.GetNativeStopReason()
	if feedback != nil && word == "" && (reason == genwayv1.StopReason_STOP_REASON_UNSPECIFIED || reason == genwayv1.StopReason_STOP_REASON_CONTENT_FILTER) {
		return ending{codec.StopWord(protocol, genwayv1.StopReason_STOP_REASON_CONTENT_FILTER), cmp.Or(feedback.GetBlockReason(), "SAFETY"), feedback.GetMessage()}
	}
	if member.Marked(protocol, end.GetNativeFields(), "status") && end.GetStopMessage() == "" {
		return ending{status: word}
	}
	if calls && (reason == genwayv1.StopReason_STOP_REASON_END_TURN || reason == genwayv1.StopReason_STOP_REASON_UNSPECIFIED) {
		reason = genwayv1.StopReason_STOP_REASON_TOOL_CALL
	}
	how := ending{status: codec.StopWord(protocol, reason), message: end.GetStopMessage()}
	own, known := codec.VendorStopWord(protocol, word)
	switch {
	case known && codec.StopReasonOf(own) == reason:
		how.status = own
	case codes[reason] != "" && word != "" && codec.StopReasonOf(word) == reason:
		how.code = word
	default:
		how.code = codes[reason]
	}
	return how
}

// codes are the words of the errors beside a status that more than one reason has.
var codes = map[genwayv1.StopReason]string{
	genwayv1.StopReason_STOP_REASON_CONTENT_FILTER: "SAFETY",
	genwayv1.StopReason_STOP_REASON_REFUSAL:        "refusal",
	genwayv1.StopReason_STOP_REASON_PAUSE:          "pause_turn",
	genwayv1.StopReason_STOP_REASON_ERROR:          "error",
	genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW: "model_context_window_exceeded",
	genwayv1.StopReason_STOP_REASON_OTHER:          "OTHER",
}

// EncodeResponse writes an Interaction. Of several candidates it writes the first: the protocol has one answer.
func (Codec) EncodeResponse(resp *genwayv1.GenerateTextResponse, to codec.Answer) ([]byte, error) {
	fit.UnplacedInAnswer(resp, protocol, to.Losses)
	candidate := &genwayv1.Candidate{}
	if len(resp.GetCandidates()) > 0 {
		candidate = resp.Candidates[0]
	}
	if len(resp.GetCandidates()) > 1 {
		to.Losses.Add("candidates", oneAnswer)
	}
	w := &writer{Writer: member.NewWriter(member.SizeOfResponse(resp, 512)), losses: to.Losses, answer: true}
	end := &genwayv1.CandidateEnd{
		StopReason: candidate.StopReason, NativeStopReason: candidate.NativeStopReason, StopSequence: candidate.StopSequence,
		StopMessage: candidate.StopMessage, NativeFields: candidate.NativeFields,
	}
	calls := slices.ContainsFunc(candidate.GetParts(), func(p *genwayv1.Part) bool { return p.GetToolCall() != nil })
	h := head{id: identifier(resp.GetId(), resp.GetModel(), resp.GetCreateTime()), model: resp.GetModel(), created: resp.GetCreateTime(), natives: resp.GetNativeFields()}
	h.updated, h.tier = resp.GetCompleteTime(), resp.GetServiceTier()
	if resp.GetStored() {
		h.repeat(to.Request)
	}
	how := endingOf(end, resp.GetPromptFeedback(), calls)
	w.Begin()
	w.head(h, how.status)
	w.List("steps")
	for i, p := range candidate.GetParts() {
		path := member.Within("candidates[0]", ".parts", i)
		if i == len(candidate.Parts)-1 && codec.Cut(candidate.StopReason) && (codec.IsBroken(p.GetToolCall()) || codec.WithoutArguments(p)) {
			to.Losses.Add(path+".tool_call", codec.CutCall)
			break
		}
		w.part(identified(p, h.id, i), path)
	}
	w.EndList()
	w.finish(how, end, resp.GetUsage())
	w.End()
	return w.Finish()
}

const oneAnswer = "the target protocol has one answer"

// identified is a part whose call, if it is one, has an identifier: the protocol requires it.
func identified(p *genwayv1.Part, answer string, index int) *genwayv1.Part {
	if p.GetToolCall() == nil || p.GetToolCall().GetId() != "" {
		return p
	}
	return codec.WithCall(p, func(call *genwayv1.ToolCall) { call.Id = codec.SyntheticToolID(answer, 0, int32(index)) })
}

// identifier is the answer's own identifier; one derived from what is known of the answer when its upstream gave none.
func identifier(id, model string, created *timestamppb.Timestamp) string {
	if id != "" {
		return id
	}
	h := fnv.New64a()
	h.Write(strconv.AppendInt([]byte(model), created.AsTime().UnixNano(), 10))
	return fmt.Sprintf("v1_%016x", h.Sum64())
}

// head is an Interaction but for its steps and its end.
type head struct {
	id, model, tier  string
	created, updated *timestamppb.Timestamp
	natives          []*genwayv1.NativeField
	// stored says that the answer can be fetched later, and previous and background repeat its request.
	stored, background bool
	previous           string
}

// repeat takes what a stored answer repeats of its request.
func (h *head) repeat(req *codec.Request) {
	if h.stored = true; req != nil {
		h.previous, h.background = member.Raw(member.Native(protocol, req.GetNativeFields(), memberPrevious)).String(), form.Background(req.GenerateTextRequest)
	}
}

// head writes what is known of an answer when it begins.
func (w *writer) head(h head, status string) {
	w.Str("id", h.id)
	w.Str("object", "interaction")
	w.Str("status", status)
	w.StrOpt("model", h.model)
	w.StrOpt(memberPrevious, h.previous)
	if h.background {
		w.Bool(memberBackground, true)
	}
	if h.stored {
		w.Bool("store", true)
	}
	w.time("created", h.created)
	w.time("updated", h.updated)
	w.StrOpt("service_tier", setting.Tier(protocol, h.tier))
	w.natives(h.natives, "")
}

func (w *writer) time(name string, t *timestamppb.Timestamp) {
	if t != nil && t.IsValid() {
		w.Str(name, t.AsTime().Format(time.RFC3339Nano))
	}
}

// finish writes what the status does not say of how an answer ended, and its usage.
func (w *writer) finish(how ending, end *genwayv1.CandidateEnd, u *genwayv1.Usage) {
	if how.code != "" || how.message != "" {
		w.List(errorsMember)
		w.Begin()
		w.StrOpt("code", how.code)
		w.StrOpt("message", how.message)
		w.End()
		w.EndList()
	}
	w.usage(u)
	if end.StopSequence != nil {
		w.losses.Add("candidates[0].stop_sequence", "the target protocol does not name the stop sequence")
	}
	for _, f := range end.GetNativeFields() {
		if !member.IsMark(f) {
			w.losses.Add(member.Join("candidates[0]", f.GetName()), noPlace)
		}
	}
}
