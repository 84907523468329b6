package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeResponse reads a Message. A body that is an error gives that error.
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
		if call := candidate.Parts[n-1].GetToolCall(); call != nil && isEmptyObject(call.ArgumentsJson) {
			call.ArgumentsJson = "" // the vendor has an empty input where nothing of it has come
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
