package chat

import (
	"fmt"
	"hash/fnv"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/openai"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// EncodeResponse implements codec.Codec. A blocked prompt becomes a choice
// without content that a filter ended: the protocol has nothing else for it.
func (Codec) EncodeResponse(resp *genwayv1.GenerateTextResponse, to codec.Answer) ([]byte, error) {
	fit.UnplacedInAnswer(resp, protocol, to.Losses)
	e := newAnswerEncoder(resp.Id, resp.Model, resp.CreateTime.GetSeconds(), to)
	a := answer{
		ID:                e.id,
		Object:            "chat.completion",
		Created:           seconds(resp.CreateTime.GetSeconds()),
		Model:             resp.Model,
		Choices:           []choice{},
		ServiceTier:       openai.Tier(resp.ServiceTier),
		SystemFingerprint: resp.SystemFingerprint,
	}
	for i, c := range resp.Candidates {
		out, err := e.choice(c, member.Index("candidates", i))
		if err != nil {
			return nil, err
		}
		a.Choices = append(a.Choices, out)
	}
	if len(resp.Candidates) == 0 && resp.PromptFeedback != nil {
		blocked := &genwayv1.Candidate{StopReason: genwayv1.StopReason_STOP_REASON_CONTENT_FILTER}
		e.promptFeedback(resp.PromptFeedback)
		out, err := e.choice(blocked, "prompt_feedback")
		if err != nil {
			return nil, err
		}
		a.Choices = append(a.Choices, out)
	}
	var err error
	if a.Usage, err = e.usage(resp.Usage); err != nil {
		return nil, err
	}
	if a.Extra, err = extra(resp.NativeFields, "", e.losses); err != nil {
		return nil, err
	}
	w := member.NewWriter(member.SizeOfResponse(resp))
	a.write(w)
	body, err := w.Finish()
	if err != nil {
		return nil, fault.Wrap(err, fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer cannot be written as JSON")
	}
	return body, nil
}

func newAnswerEncoder(id, model string, created int64, to codec.Answer) *encoder {
	e := &encoder{losses: to.Losses, answer: true, id: id}
	if e.id == "" {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s/%d", model, created)
		e.id = fmt.Sprintf("chatcmpl-%016x", h.Sum64())
	}
	if to.Request != nil && to.Request.GenerateTextRequest != nil {
		tools := to.Request.Tools
		e.deprecated = len(tools) > 0 && marked(tools[0].NativeFields, functionsName)
	}
	return e
}

func (e *encoder) promptFeedback(f *genwayv1.PromptFeedback) {
	if f.BlockReason != "" || f.Message != "" {
		e.losses.Add("prompt_feedback", "chat completions says only that a filter ended the answer")
	}
}

func (e *encoder) choice(c *genwayv1.Candidate, path string) (choice, error) {
	inMessage := messageNatives(c.NativeFields)
	m, err := e.candidate(c.Parts, inMessage, path, c.Index)
	if err != nil {
		return choice{}, err
	}
	if n := len(c.Parts); n > 0 && codec.Cut(c.StopReason) && codec.WithoutArguments(c.Parts[n-1]) {
		m.lastCall().Arguments = textOf("")
	}
	m.Role = "assistant"
	m.Extra = inner(inMessage, "", m.reserved()...)
	out := choice{Index: &c.Index, Message: &m, Logprobs: logprobsOf(c.Parts)}
	if out.Logprobs != nil {
		out.Logprobs.Extra = inner(c.NativeFields, "logprobs.")
	}
	out.finish(e, c.StopReason, c.NativeStopReason, c.StopSequence, c.NativeFields, hasCalls(c.Parts))
	if c.StopMessage != "" {
		e.losses.Add(path+".stop_message", "chat completions does not explain a stop")
	}
	out.Extra, err = extra(c.NativeFields, path, e.losses, choiceMembers...)
	return out, err
}

// choiceMembers are native fields of a candidate that are written by fields of
// their own, or into the objects in the choice.
var choiceMembers = []string{messagePrefix, "logprobs.", "native_finish_reason", "stop_reason"}

// messageNatives are the native fields of the choice's message.
func messageNatives(fields []*genwayv1.NativeField) []*genwayv1.NativeField {
	var out []*genwayv1.NativeField
	for _, f := range fields {
		if name := f.Name; f.Protocol == protocol && len(name) > len(messagePrefix) && name[:len(messagePrefix)] == messagePrefix {
			out = append(out, native(name[len(messagePrefix):], f.Json))
		}
	}
	return out
}

func (c *choice) finish(e *encoder, reason genwayv1.StopReason, nativeWord string, sequence *string, fields []*genwayv1.NativeField, calls bool) {
	word, beside := finishWord(reason, nativeWord, fields, calls, e.deprecated)
	c.FinishReason = textOf(word)
	if raw := member.Native(protocol, fields, "native_finish_reason"); raw != nil {
		c.NativeFinishReason = text{is: isOther, raw: raw}
	} else if beside != "" {
		c.NativeFinishReason = textOf(beside)
	}
	if sequence != nil {
		c.StopReason = textOf(*sequence)
	} else if raw := member.Native(protocol, fields, "stop_reason"); raw != nil {
		c.StopReason = text{is: isOther, raw: raw}
	}
}
