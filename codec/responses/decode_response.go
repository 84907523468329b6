package responses

import (
	"errors"
	"math"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/openai"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// DecodeResponse reads the body of a unary answer. A response that failed is a
// *fault.Error, whatever the HTTP status is.
func (Codec) DecodeResponse(body []byte) (*genwayv1.GenerateTextResponse, error) {
	var w wireResponse
	if err := member.DecodeLoose(body, &w, "usage", "created_at"); err != nil {
		return nil, err
	}
	switch {
	case w.refused():
		return nil, openai.Decode(0, body, protocol)
	case w.failed():
		return nil, failure(w.Error, body)
	case unfinished[w.Status]:
		return nil, w.unfinished(body)
	}
	if w.empty() {
		return nil, noOutput()
	}
	resp := w.head(body)
	candidate := &genwayv1.Candidate{}
	var thought *genwayv1.Seal
	for i, raw := range w.Output {
		it, err := decodeItem(raw, member.Place{Path: "output", Element: i + 1})
		if err != nil {
			return nil, badAnswer(err)
		}
		if thought != nil && len(it.parts) > 0 {
			it.parts[0].ThoughtSignature = thought
		}
		thought = nil
		if it.thought != nil && !it.late {
			thought = it.thought
			continue
		}
		candidate.Parts = appendAnswer(candidate.Parts, it)
	}
	resp.Candidates = []*genwayv1.Candidate{candidate}
	candidate.StopReason, candidate.NativeStopReason, candidate.NativeFields = decodeStop(w.Status, w.reason(), called(candidate.Parts))
	if n := len(candidate.Parts); n > 0 && codec.Cut(candidate.StopReason) {
		last := w.Output[len(w.Output)-1]
		if call := candidate.Parts[n-1].GetToolCall(); call != nil && call.Input == nil && member.Raw(member.Value(last, "type")).String() == typeFunctionCall {
			call.ArgumentsJson = member.Raw(member.Value(last, "arguments")).String() // none if none came
		}
	}
	return resp, nil
}

// empty reports whether a response has nothing of an answer.
func (w *wireResponse) empty() bool { return w.Output == nil && w.Status == "" }

func noOutput() error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has no output")
}

// unfinished is the failure of a response that has not been generated to its end.
func (w *wireResponse) unfinished(body []byte) error {
	err := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is not finished: its status is %q", w.Status)
	err.Usage = w.usage(body)
	return err
}

// badAnswer turns the fault of a decoder of requests into one of the upstream.
func badAnswer(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.BadUpstream {
		return f
	}
	return fault.MalformedAnswer(err)
}

func (w *wireResponse) failed() bool {
	return w.Status == statusFailed || len(w.Error) > 0 && w.Error.Kind() == '{'
}

// refused reports whether an error stands in the place of the response. One that failed is a
// response, with a status.
func (w *wireResponse) refused() bool {
	return w.Status == "" && w.Output == nil && given(w.Error)
}

// given reports whether a member is there and not null.
func given(raw jsontext.Value) bool { return len(raw) > 0 && raw.Kind() != 'n' }

func (w *wireResponse) reason() string {
	if w.IncompleteDetails == nil {
		return ""
	}
	return w.IncompleteDetails.Reason
}

// usage is all that the response, which body is, has used.
func (w *wireResponse) usage(body []byte) *genwayv1.Usage {
	return withTools(w.Usage.canonical(w.ServiceTier), body)
}

// head is the answer, which body is, but for its candidate.
func (w *wireResponse) head(body []byte) *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{
		Id: w.ID, Model: w.Model, CreateTime: w.created(), ServiceTier: w.ServiceTier,
		Usage: w.usage(body), NativeFields: w.natives(),
	}
}

func (w *wireResponse) natives() []*genwayv1.NativeField {
	return member.Natives(protocol, w.Extra, nil)
}

// created drops fractions of a second, which no client reads.
func (w *wireResponse) created() *timestamppb.Timestamp {
	if w.CreatedAt <= 0 || w.CreatedAt > math.MaxInt32*100 {
		return nil
	}
	return &timestamppb.Timestamp{Seconds: int64(w.CreatedAt)}
}

// appendAnswer adds an item of the output. In an answer the status of an item
// says no more than that of the whole, and a part without content says nothing.
func appendAnswer(parts []*genwayv1.Part, it item) []*genwayv1.Part {
	if it.thought != nil {
		if len(parts) > 0 {
			parts[len(parts)-1].ThoughtSignature = it.thought
		}
		return parts
	}
	for _, p := range it.parts {
		p.NativeFields = withoutStatus(p.NativeFields)
		if !blank(p) {
			parts = append(parts, p)
		}
	}
	return parts
}

func withoutStatus(fields []*genwayv1.NativeField) []*genwayv1.NativeField {
	fields, _ = without(fields, "status")
	fields, _ = without(fields, ofMessage+"status")
	return fields
}

// blank reports whether a part of an answer says nothing (case T2). Text that
// only carries a signature says something (case R2), and so does reasoning that
// the upstream keeps under its id.
func blank(p *genwayv1.Part) bool {
	if p.ThoughtSignature != nil {
		return false
	}
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Text:
		return k.Text.GetText() == "" && len(k.Text.Citations) == 0 && len(k.Text.Logprobs) == 0
	case *genwayv1.Part_Refusal:
		return k.Refusal.GetText() == ""
	case *genwayv1.Part_Thinking:
		t := k.Thinking
		return p.Id == "" && t.GetText() == "" && len(t.Summary) == 0 && t.Signature == nil && t.EncryptedContent == nil && len(p.NativeFields) == 0
	}
	return p.Kind == nil
}
