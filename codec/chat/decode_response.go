package chat

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const messagePrefix = "message."

// DecodeResponse implements codec.Codec. Unknown members of a choice become
// native fields of the candidate, those of its message under message.<name>.
func (Codec) DecodeResponse(body []byte) (*genwayv1.GenerateTextResponse, error) {
	var a answer
	if err := member.DecodeLoose(body, &a, "usage", "created"); err != nil {
		return nil, err
	}
	if given(a.Error) {
		return nil, decodeError(0, body)
	}
	if len(a.Choices) == 0 {
		return nil, noChoices(a.Usage.whole(a.ServiceTier))
	}
	if slices.ContainsFunc(a.Choices, void) {
		return nil, voidChoice(a.Usage.whole(a.ServiceTier))
	}
	resp := a.settings()
	var losses codec.Losses
	d := decoder{body: body}
	for i := range a.Choices {
		c, err := d.choice(&a.Choices[i], int32(i), &losses)
		if err != nil {
			return nil, fault.MalformedAnswer(err)
		}
		resp.Candidates = append(resp.Candidates, c)
	}
	resp.Losses = losses.List()
	return resp, nil
}

// noChoices is the failure of an answer without choices. The vendor's word for a prompt that is
// blocked is an error, or a choice that a filter has ended.
func noChoices(usage *genwayv1.Usage) *fault.Error {
	err := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has no choices")
	err.Usage = usage
	return err
}

// void reports whether a choice of a unary answer has neither a message nor a finish_reason. Either
// will do: whole answers of Snowflake have an empty finish_reason, those of OpenAI have had null
// (https://github.com/openai/openai-openapi/pull/20), and a filter may leave no message.
func void(c choice) bool {
	return c.Message == nil && c.FinishReason.s == "" && c.FinishReason.is != isOther
}

// voidChoice is the failure of an answer with a choice that says nothing, such as null.
func voidChoice(usage *genwayv1.Usage) *fault.Error {
	err := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has a choice without a message and without an end")
	err.Usage = usage
	return err
}

// settings are what an answer says beside its choices.
func (a *answer) settings() *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{
		Id:                a.ID,
		Model:             a.Model,
		CreateTime:        a.Created.time(),
		Usage:             a.Usage.whole(a.ServiceTier),
		ServiceTier:       a.ServiceTier,
		SystemFingerprint: a.SystemFingerprint,
		NativeFields:      natives(a.Extra),
	}
}

// time is nil for a time that was not given, and for one that is none.
func (s seconds) time() *timestamppb.Timestamp { return member.Time(int64(s)) }

func (d decoder) choice(c *choice, place int32, losses *codec.Losses) (*genwayv1.Candidate, error) {
	out := &genwayv1.Candidate{Index: place}
	if c.Index != nil {
		out.Index = *c.Index
	}
	var inMessage []*genwayv1.NativeField
	if m := c.Message; m != nil {
		var err error
		if out.Parts, inMessage, err = d.assistant(m, member.Place{Path: "choices.message"}); err != nil {
			return nil, err
		}
		for _, f := range inMessage {
			f.Name = messagePrefix + f.Name
		}
	}
	if c.Logprobs != nil {
		text, refusal := attachLogprobs(out.Parts, decodeLogprobs(c.Logprobs.Content), decodeLogprobs(c.Logprobs.Refusal))
		loseLogprobs(out.Index, text, refusal, losses)
	}
	word, err := c.FinishReason.str("finish_reason")
	if err != nil {
		return nil, err
	}
	end := decodeFinish(word, c.StopReason, c.NativeFinishReason, hasCalls(out.Parts))
	if last := c.Message.lastCall(); last != nil && last.Name != "" && codec.AreNone(last.Arguments.spelled()) {
		switch {
		case word == "":
			return nil, fault.Missing("choices.message.tool_calls.function.arguments")
		case codec.Cut(end.reason):
			out.Parts[len(out.Parts)-1].GetToolCall().ArgumentsJson = ""
		}
	}
	out.StopReason, out.NativeStopReason, out.StopSequence = end.reason, end.native, end.sequence
	out.NativeFields = slices.Concat(end.fields, natives(c.Extra), c.Logprobs.natives(), inMessage)
	return out, nil
}

// lastCall returns the function of the message's last tool call; nil for none.
func (m *message) lastCall() *functionCall {
	switch {
	case m == nil:
		return nil
	case m.FunctionCall != nil || len(m.ToolCalls) == 0:
		return m.FunctionCall
	}
	return m.ToolCalls[len(m.ToolCalls)-1].Function
}

func (l *logprobs) natives() []*genwayv1.NativeField {
	if l == nil {
		return nil
	}
	return member.NativesUnder(protocol, "logprobs.", l.Extra)
}

// attachLogprobs returns the tokens to the first text and the first refusal. It returns those that
// there is no part for.
func attachLogprobs(parts []*genwayv1.Part, text, refusal []*genwayv1.TokenLogprob) (leftText, leftRefusal []*genwayv1.TokenLogprob) {
	for _, p := range parts {
		if t := p.GetText(); t != nil && text != nil {
			t.Logprobs, text = text, nil
		}
		if r := p.GetRefusal(); r != nil && refusal != nil {
			r.Logprobs, refusal = refusal, nil
		}
	}
	return text, refusal
}

// loseLogprobs names tokens that are of no text: some engines give those of calls, too.
func loseLogprobs(candidate int32, text, refusal []*genwayv1.TokenLogprob, losses *codec.Losses) {
	if len(text) > 0 {
		losses.Add(member.Index("candidates", int(candidate))+".logprobs.content", "they belong to no text of the answer")
	}
	if len(refusal) > 0 {
		losses.Add(member.Index("candidates", int(candidate))+".logprobs.refusal", "they belong to no refusal of the answer")
	}
}
