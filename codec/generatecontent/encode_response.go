package generatecontent

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// EncodeResponse writes the body of a successful unary answer.
func (Codec) EncodeResponse(resp *genwayv1.GenerateTextResponse, to codec.Answer) ([]byte, error) {
	fit.UnplacedInAnswer(resp, protocol, to.Losses)
	w := head{resp.Id, resp.Model, encodeTime(resp.CreateTime)}.response()
	var err error
	if w.Extra, err = member.Extra(protocol, resp.NativeFields, "", to.Losses); err != nil {
		return nil, err
	}
	if w.PromptFeedback, err = encodeFeedback(resp.PromptFeedback, to.Losses); err != nil {
		return nil, err
	}
	if w.UsageMetadata, err = encodeUsage(resp.Usage, resp.ServiceTier, to.Losses); err != nil {
		return nil, err
	}
	for i, c := range resp.Candidates {
		wc, err := encodeCandidate(c, member.Index("candidates", i), to.Losses)
		if err != nil {
			return nil, err
		}
		w.Candidates = append(w.Candidates, *wc)
	}
	return marshal(w, member.SizeOfResponse(resp), fault.Internal)
}

// head is what every frame of a stream repeats.
type head struct{ id, model, createTime string }

func (h head) response() *response {
	return &response{ResponseID: h.id, ModelVersion: h.model, CreateTime: h.createTime}
}

func encodeTime(t *timestamppb.Timestamp) string {
	if !t.IsValid() {
		return ""
	}
	return t.AsTime().Format(time.RFC3339Nano)
}

func encodeFeedback(f *genwayv1.PromptFeedback, losses *codec.Losses) (*promptFeedback, error) {
	if f == nil {
		return nil, nil
	}
	w := &promptFeedback{BlockReason: f.BlockReason, BlockReasonMessage: f.Message}
	if w.BlockReason == "" {
		w.BlockReason = "OTHER"
	}
	var err error
	w.Extra, err = member.Extra(protocol, f.NativeFields, "prompt_feedback", losses)
	return w, err
}

func encodeCandidate(c *genwayv1.Candidate, path string, losses *codec.Losses) (*candidate, error) {
	e := &writer{losses: losses, answer: true}
	end := &genwayv1.CandidateEnd{
		Index: c.Index, StopReason: c.StopReason, NativeStopReason: c.NativeStopReason,
		StopSequence: c.StopSequence, StopMessage: c.StopMessage, NativeFields: c.NativeFields,
	}
	var grounding groundingBuilder
	var tokens []*genwayv1.TokenLogprob
	parts := make([]part, 0, len(c.Parts))
	for i, p := range c.Parts {
		if i == len(c.Parts)-1 && codec.Cut(c.StopReason) && (broken(p.GetToolCall()) || codec.WithoutArguments(p)) {
			losses.Add(member.Within(path, ".parts", i)+".tool_call", codec.CutCall)
			break
		}
		var err error
		grounding.add(p.GetText().GetText(), len(parts), p.GetText().GetCitations())
		tokens = append(append(tokens, p.GetText().GetLogprobs()...), p.GetRefusal().GetLogprobs()...)
		if parts, err = e.part(parts, p, member.Within(path, ".parts", i)); err != nil && !errors.Is(err, errLeftOut) {
			return nil, err
		}
	}
	return encodeEnd(end, parts, &grounding, tokens, path, losses)
}

// encodeEnd writes a candidate with how it ended.
func encodeEnd(end *genwayv1.CandidateEnd, parts []part, grounding *groundingBuilder, tokens []*genwayv1.TokenLogprob, path string, losses *codec.Losses) (*candidate, error) {
	fields := end.NativeFields
	if f := grounding.field(fields); f != nil {
		fields = append(slices.Clip(fields), f)
	}
	word, beside := finishReason(end.StopReason, end.NativeStopReason, fields)
	lists := split(fields, "content.", "logprobsResult.")
	w := &candidate{
		Index:         integer(end.Index),
		Content:       &content{Role: "model", Parts: parts},
		FinishReason:  word,
		FinishMessage: cmp.Or(end.StopMessage, beside),
	}
	if end.StopSequence != nil {
		losses.Add(path+".stop_sequence", "the target protocol does not name the stop sequence")
	}
	var err error
	if w.Extra, err = member.Extra(protocol, lists[2], path, losses); err != nil {
		return nil, err
	}
	if w.Content.Extra, err = member.Extra(protocol, lists[0], path, losses); err != nil {
		return nil, err
	}
	extra, err := member.Extra(protocol, lists[1], path, losses)
	if err != nil {
		return nil, err
	}
	if member.Native(protocol, lists[2], "logprobsResult") == nil {
		if w.LogprobsResult, err = encodeLogprobs(tokens, extra); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
		}
	}
	return w, nil
}
