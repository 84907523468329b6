package chat

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const messagePrefix = "message."

// DecodeResponse implements codec.Codec. Unknown members of a choice become
// native fields of the candidate, its message's under message.<name>.
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
// will do: whole answers of Snowflake have an empty finish_reason, OpenAI's have had null
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
			out.Parts[len(out.Parts)-1].GetToolCall().Arguments = nil
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

// loseLogprobs names tokens that belong to no text: some engines report the tokens of calls, too.
func loseLogprobs(candidate int32, text, refusal []*genwayv1.TokenLogprob, losses *codec.Losses) {
	if len(text) > 0 {
		losses.Add(member.Index("candidates", int(candidate))+".logprobs.content", "they belong to no text of the answer")
	}
	if len(refusal) > 0 {
		losses.Add(member.Index("candidates", int(candidate))+".logprobs.refusal", "they belong to no refusal of the answer")
	}
}

// cachedNames are the members in which some engines count cached tokens instead
// of prompt_tokens_details: Moonshot, DeepSeek, Mistral.
var cachedNames = []string{"cached_tokens", "prompt_cache_hit_tokens", "num_cached_tokens"}

// calledNames are the members in which some vendors count the calls of their own tools: OpenRouter, xAI.
var calledNames = []string{"server_tool_use", "server_side_tool_usage_details"}

// whole reads the usage of a whole answer.
func (u *usage) whole(tier string) *genwayv1.Usage {
	if u == nil {
		return nil
	}
	return codec.Completed(u.decode(tier))
}

// decode reads usage, of an answer that a tier has served, as far as it is reported. Both totals of the vendor include what the canonical ones
// do: cached tokens and thinking.
func (u *usage) decode(tier string) *genwayv1.Usage {
	if u == nil {
		return nil
	}
	out := &genwayv1.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, TotalTokens: u.TotalTokens, ServiceTier: tier}
	out.NativeFields = natives(u.Extra)
	for _, name := range calledNames {
		out.Tools = append(out.Tools, member.ToolCalls(member.Native(protocol, out.NativeFields, name))...)
	}
	if d := u.PromptTokensDetails; d != nil {
		out.CacheReadInputTokens, out.CacheWriteInputTokens = d.CachedTokens, d.CacheWriteTokens
		out.InputTextTokens, out.InputImageTokens, out.InputAudioTokens = d.TextTokens, d.ImageTokens, d.AudioTokens
		out.NativeFields = append(out.NativeFields, member.NativesUnder(protocol, "prompt_tokens_details.", d.Extra)...)
	}
	if d := u.CompletionTokensDetails; d != nil {
		out.ThinkingTokens = d.ReasoningTokens
		out.OutputTextTokens, out.OutputImageTokens, out.OutputAudioTokens = d.TextTokens, d.ImageTokens, d.AudioTokens
		out.AcceptedPredictionTokens, out.RejectedPredictionTokens = d.AcceptedPredictionTokens, d.RejectedPredictionTokens
		out.NativeFields = append(out.NativeFields, member.NativesUnder(protocol, "completion_tokens_details.", d.Extra)...)
	}
	for _, name := range cachedNames {
		if out.CacheReadInputTokens != nil {
			break
		}
		text := member.Native(protocol, out.NativeFields, name)
		if len(text) == 0 { // as most are: an error would be made of each
			continue
		}
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			out.CacheReadInputTokens = &n
		}
	}
	return out
}

// usage writes usage; details that were not reported stay absent (F5).
func (e *encoder) usage(u *genwayv1.Usage) (*usage, error) {
	if u == nil {
		return nil, nil
	}
	out := &usage{PromptTokens: u.InputTokens, CompletionTokens: u.OutputTokens, TotalTokens: u.TotalTokens}
	if out.TotalTokens == 0 {
		out.TotalTokens = codec.Sum(out.PromptTokens, out.CompletionTokens)
	}
	input := promptDetails{
		CachedTokens: u.CacheReadInputTokens, CacheWriteTokens: u.CacheWriteInputTokens,
		TextTokens: u.InputTextTokens, ImageTokens: u.InputImageTokens, AudioTokens: u.InputAudioTokens,
		Extra: inner(u.NativeFields, "prompt_tokens_details."),
	}
	if input.CachedTokens != nil || input.CacheWriteTokens != nil || input.TextTokens != nil || input.ImageTokens != nil ||
		input.AudioTokens != nil || input.Extra != nil {
		out.PromptTokensDetails = &input
	}
	output := completionDetails{
		ReasoningTokens: u.ThinkingTokens,
		TextTokens:      u.OutputTextTokens, ImageTokens: u.OutputImageTokens, AudioTokens: u.OutputAudioTokens,
		AcceptedPredictionTokens: u.AcceptedPredictionTokens, RejectedPredictionTokens: u.RejectedPredictionTokens,
		Extra: inner(u.NativeFields, "completion_tokens_details."),
	}
	if output.ReasoningTokens != nil || output.TextTokens != nil || output.ImageTokens != nil || output.AudioTokens != nil ||
		output.AcceptedPredictionTokens != nil || output.RejectedPredictionTokens != nil || output.Extra != nil {
		out.CompletionTokensDetails = &output
	}
	var err error
	out.Extra, err = extra(u.NativeFields, "usage", e.losses, "prompt_tokens_details.", "completion_tokens_details.")
	return out, err
}

// mergeUsage adds what a later report knows, field by field: a number that is
// there and not zero wins, nothing is summed up (U5).
func mergeUsage(have, later *genwayv1.Usage) *genwayv1.Usage {
	if have == nil || later == nil {
		if later != nil {
			return later
		}
		return have
	}
	for _, f := range []struct {
		to   *int64
		from int64
	}{
		{&have.InputTokens, later.InputTokens}, {&have.OutputTokens, later.OutputTokens}, {&have.TotalTokens, later.TotalTokens},
	} {
		if f.from != 0 {
			*f.to = f.from
		}
	}
	for _, f := range []struct {
		to   **int64
		from *int64
	}{
		{&have.CacheReadInputTokens, later.CacheReadInputTokens}, {&have.CacheWriteInputTokens, later.CacheWriteInputTokens},
		{&have.ThinkingTokens, later.ThinkingTokens},
		{&have.InputTextTokens, later.InputTextTokens}, {&have.InputImageTokens, later.InputImageTokens}, {&have.InputAudioTokens, later.InputAudioTokens},
		{&have.OutputTextTokens, later.OutputTextTokens}, {&have.OutputImageTokens, later.OutputImageTokens}, {&have.OutputAudioTokens, later.OutputAudioTokens},
		{&have.AcceptedPredictionTokens, later.AcceptedPredictionTokens}, {&have.RejectedPredictionTokens, later.RejectedPredictionTokens},
	} {
		if f.from != nil && (*f.to == nil || *f.from != 0) {
			*f.to = f.from
		}
	}
	have.NativeFields = replaceNatives(have.NativeFields, later.NativeFields)
	if len(later.Tools) > 0 {
		have.Tools = later.Tools
	}
	return have
}

// replaceNatives returns the fields with later's in the place of their
// namesakes.
func replaceNatives(have, later []*genwayv1.NativeField) []*genwayv1.NativeField {
	for _, f := range later {
		found := false
		for i, h := range have {
			if h.Name == f.Name {
				have[i], found = f, true
				break
			}
		}
		if !found {
			have = append(have, f)
		}
	}
	return have
}

const finishReasonName = "finish_reason"

// ending is how a choice ended, read from its members.
type ending struct {
	reason   genwayv1.StopReason
	native   string
	sequence *string
	fields   []*genwayv1.NativeField
}

// decodeFinish reads how a choice ended. An answer with calls that ended
// regularly ended with the calls: the vendor itself says stop for a call that was
// demanded by name. An engine that leaves the word out of a whole answer means
// that it is whole. A word for a failure, or that is not known, is kept and marked as of
// this protocol: the vendor's SDK has no word for those.
func decodeFinish(word string, stop, nativeWord text, calls bool) ending {
	end := ending{native: word, reason: codec.StopReasonOf(word)}
	if codec.Unworded(end.reason) {
		end.fields = append(end.fields, mark(finishReasonName))
	}
	switch {
	case calls && (end.reason == genwayv1.StopReason_STOP_REASON_END_TURN || word == ""):
		end.reason = genwayv1.StopReason_STOP_REASON_TOOL_CALL
	case word == "":
		end.reason = genwayv1.StopReason_STOP_REASON_END_TURN
	}
	switch stop.is {
	case isText:
		end.sequence = &stop.s
		if end.reason == genwayv1.StopReason_STOP_REASON_END_TURN {
			end.reason = genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE
		}
	case isOther:
		end.fields = append(end.fields, native("stop_reason", stop.raw))
	case absent, isNull, isParts:
	}
	if nativeWord.is == isText || nativeWord.is == isOther {
		end.fields = append(end.fields, native("native_finish_reason", nativeWord.json()))
	}
	return end
}

// finishWord returns the finish_reason of a candidate and, where that does not say
// it all, the vendor's own word beside it.
func finishWord(reason genwayv1.StopReason, nativeWord string, fields []*genwayv1.NativeField, calls, deprecated bool) (word, beside string) {
	if marked(fields, finishReasonName) {
		return nativeWord, ""
	}
	word = codec.StopWord(protocol, reason)
	regular := reason == genwayv1.StopReason_STOP_REASON_END_TURN || reason == genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE ||
		reason == genwayv1.StopReason_STOP_REASON_UNSPECIFIED
	if calls && regular {
		word = "tool_calls"
	}
	if word == "tool_calls" && (deprecated || nativeWord == functionCallName) {
		word = functionCallName
	}
	switch reason {
	case genwayv1.StopReason_STOP_REASON_ERROR, genwayv1.StopReason_STOP_REASON_OTHER, genwayv1.StopReason_STOP_REASON_PAUSE,
		genwayv1.StopReason_STOP_REASON_REFUSAL, genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW:
	default:
		return word, ""
	}
	if nativeWord == word || member.Native(protocol, fields, "native_finish_reason") != nil {
		return word, ""
	}
	return word, nativeWord
}

// hasCalls reports whether the parts have a tool call.
func hasCalls(parts []*genwayv1.Part) bool {
	for _, p := range parts {
		if p.GetToolCall() != nil || p.GetOpaque() != nil && marked(p.NativeFields, toolCallsName) {
			return true
		}
	}
	return false
}

func decodeLogprobs(list []tokenLogprob) []*genwayv1.TokenLogprob {
	if len(list) == 0 {
		return nil
	}
	out := make([]*genwayv1.TokenLogprob, len(list))
	for i, l := range list {
		out[i] = &genwayv1.TokenLogprob{Token: l.Token, Logprob: l.Logprob, Utf8: l.Bytes}
		if l.TopLogprobs != nil {
			out[i].Top = decodeLogprobs(*l.TopLogprobs)
		}
	}
	return out
}

// encodeLogprobs writes tokens with their alternatives, which the SDK demands
// even when there are none, and alternatives without.
func encodeLogprobs(list []*genwayv1.TokenLogprob, withTop bool) []tokenLogprob {
	if len(list) == 0 {
		return nil
	}
	out := make([]tokenLogprob, len(list))
	for i, l := range list {
		out[i] = tokenLogprob{Token: l.Token, Logprob: codec.Logprob(l.Logprob), Bytes: l.Utf8}
		if withTop {
			top := encodeLogprobs(l.Top, false)
			if top == nil {
				top = []tokenLogprob{}
			}
			out[i].TopLogprobs = &top
		}
	}
	return out
}

// logprobsOf gathers the log probabilities of a candidate's parts; nil when there
// are none.
func logprobsOf(parts []*genwayv1.Part) *logprobs {
	var text, refusal []*genwayv1.TokenLogprob
	for _, p := range parts {
		text = append(text, p.GetText().GetLogprobs()...)
		refusal = append(refusal, p.GetRefusal().GetLogprobs()...)
	}
	return newLogprobs(text, refusal)
}

func newLogprobs(text, refusal []*genwayv1.TokenLogprob) *logprobs {
	if len(text) == 0 && len(refusal) == 0 {
		return nil
	}
	return &logprobs{Content: encodeLogprobs(text, true), Refusal: encodeLogprobs(refusal, true)}
}

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
		ServiceTier:       setting.Tier(protocol, resp.ServiceTier),
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
	w := member.NewWriter(member.SizeOfResponse(resp, 512))
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
