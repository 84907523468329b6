package generatecontent

import (
	"slices"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// DecodeResponse reads the body of a successful unary answer. A body that is an
// error after all gives that error.
func (c Codec) DecodeResponse(body []byte) (*genwayv1.GenerateTextResponse, error) {
	var w response
	if err := member.DecodeLoose(body, &w, "usageMetadata", "createTime"); err != nil {
		return nil, err
	}
	if present(w.Error) {
		return nil, c.DecodeError(0, body)
	}
	if len(w.Candidates) == 0 && w.PromptFeedback == nil {
		f := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has no candidates")
		if w.UsageMetadata != nil {
			f.Usage = w.UsageMetadata.canonical()
		}
		return nil, f
	}
	resp, err := w.canonical()
	if err != nil {
		return nil, fault.MalformedAnswer(err)
	}
	if resp.PromptFeedback == nil && slices.ContainsFunc(w.Candidates, unfinished) {
		f := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is not finished: a candidate has no finishReason")
		f.Usage = resp.Usage
		return nil, f
	}
	return resp, nil
}

// unfinished reports whether the candidate has no finishReason. The vendor's SDK says of this member that the model
// has not stopped generating then.
func unfinished(c candidate) bool { return c.FinishReason == "" }

func (w *response) canonical() (*genwayv1.GenerateTextResponse, error) {
	resp := &genwayv1.GenerateTextResponse{Id: w.ResponseID, Model: w.ModelVersion}
	var err error
	if resp.NativeFields, err = natives(w.Extra, "", nil); err != nil {
		return nil, err
	}
	var left *genwayv1.NativeField
	if resp.CreateTime, left = decodeTime(w.CreateTime); left != nil {
		resp.NativeFields = append(resp.NativeFields, left)
	}
	if resp.PromptFeedback, left, err = w.PromptFeedback.canonical(); err != nil {
		return nil, err
	}
	if left != nil {
		resp.NativeFields = append(resp.NativeFields, left)
	}
	if w.UsageMetadata != nil {
		resp.ServiceTier, resp.Usage = w.UsageMetadata.ServiceTier, w.UsageMetadata.canonical()
	}
	for i := range w.Candidates {
		c, err := w.Candidates[i].canonical(member.Index("candidates", i))
		if err != nil {
			return nil, err
		}
		if resp.PromptFeedback != nil {
			c.StopReason = blocked(c.StopReason)
		}
		resp.Candidates = append(resp.Candidates, c)
	}
	return resp, nil
}

// decodeTime reads createTime; one that is no time stays a native field.
func decodeTime(text string) (*timestamppb.Timestamp, *genwayv1.NativeField) {
	if text == "" {
		return nil, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		if stamp := timestamppb.New(t); stamp.IsValid() {
			return stamp, nil
		}
	}
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil, nil
	}
	return nil, native("createTime", quoted)
}

// canonical reads why a prompt was blocked. Feedback that blocked nothing stays a
// native field.
func (w *promptFeedback) canonical() (*genwayv1.PromptFeedback, *genwayv1.NativeField, error) {
	if w == nil {
		return nil, nil, nil
	}
	if w.BlockReason == "" {
		whole, err := marshal(w, 128, fault.Internal)
		return nil, native("promptFeedback", whole), err
	}
	f := &genwayv1.PromptFeedback{BlockReason: w.BlockReason, Message: w.BlockReasonMessage}
	var err error
	f.NativeFields, err = natives(w.Extra, "promptFeedback", nil)
	return f, nil, err
}

func (w *candidate) canonical(path string) (*genwayv1.Candidate, error) {
	number, err := int32Of(&w.Index, path, "index")
	if err != nil {
		return nil, err
	}
	c := &genwayv1.Candidate{Index: *number, NativeStopReason: w.FinishReason, StopMessage: w.FinishMessage}
	if c.NativeFields, err = w.natives(path); err != nil {
		return nil, err
	}
	if w.Content != nil {
		parts, err := reader{answer: true}.parts(w.Content.Parts, member.Place{In: &member.Place{Path: path}, Path: "content.parts"})
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			if n := len(c.Parts); n > 0 && continues(c.Parts[n-1], p) {
				sound := c.Parts[n-1].GetAudio()
				sound.Source = &genwayv1.Media_Data{Data: slices.Concat(sound.GetData(), p.GetAudio().GetData())}
			} else if says(p) {
				c.Parts = append(c.Parts, p)
			}
		}
	}
	var only *genwayv1.Text
	texts, called := 0, false
	for _, p := range c.Parts {
		if t := p.GetText(); t != nil {
			only = t
			texts++
		}
		called = called || p.GetToolCall() != nil
	}
	c.StopReason = stopReason(w.FinishReason, called)
	if texts == 1 && c.Parts[len(c.Parts)-1].GetText() == only {
		// Not of a text with parts behind it: a stream has closed it by the time it
		// knows, and must fold to the same.
		only.Citations = citations(c.NativeFields, only.Text)
	}
	fields := w.logprobs(only, texts == 1)
	c.NativeFields = append(append(c.NativeFields, fields...), unknownWord(w.FinishReason)...)
	return c, nil
}

// natives are those of a candidate and of its content, whose role is model.
func (w *candidate) natives(path string) ([]*genwayv1.NativeField, error) {
	fields, err := natives(w.Extra, path, nil)
	if err != nil || w.Content == nil {
		return fields, err
	}
	inner, err := nested("content.", w.Content.Extra, path+".content", nil)
	return append(fields, inner...), err
}

// logprobs returns the tokens to the text they are of, if there is one; else, and
// when they say more than the contract can hold, they stay a native field.
func (w *candidate) logprobs(text *genwayv1.Text, only bool) []*genwayv1.NativeField {
	if !present(w.LogprobsResult) {
		return nil
	}
	tokens, extra, ok := decodeLogprobs(w.LogprobsResult)
	if !ok || !only && len(tokens) > 0 {
		return []*genwayv1.NativeField{native("logprobsResult", w.LogprobsResult)}
	}
	fields, err := nested("logprobsResult.", extra, "logprobsResult", nil)
	if err != nil {
		return []*genwayv1.NativeField{native("logprobsResult", w.LogprobsResult)}
	}
	if only {
		text.Logprobs = append(text.Logprobs, tokens...)
	}
	return fields
}
