package generatecontent_test

import (
	"strings"
	"time"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

// drawResponse draws an answer. One that is to stream has no neighbours that would
// stream as one part.
func drawResponse(t *rapid.T, streamed bool) *genwayv1.GenerateTextResponse {
	resp := &genwayv1.GenerateTextResponse{
		Id: words(t, "id"), Model: words(t, "model"), NativeFields: ownNatives(t, "modelStatus"),
	}
	if chance(t, "created") {
		resp.CreateTime = timestamppb.New(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "second"), rapid.Int64Range(0, 999999999).Draw(t, "nano")))
	}
	if chance(t, "usage") {
		resp.Usage, resp.ServiceTier = drawUsage(t), rapid.SampledFrom([]string{"", "standard", "flex"}).Draw(t, "tier")
		resp.Usage.ServiceTier = resp.ServiceTier
	}
	if rapid.IntRange(0, 9).Draw(t, "blocked") == 0 {
		resp.PromptFeedback = &genwayv1.PromptFeedback{BlockReason: "SAFETY", Message: rapid.String().Draw(t, "why"), NativeFields: ownNatives(t, "safetyRatings")}
		return resp
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "candidates") {
		resp.Candidates = append(resp.Candidates, drawCandidate(t, int32(i), streamed))
	}
	return resp
}

func drawCandidate(t *rapid.T, index int32, streamed bool) *genwayv1.Candidate {
	word := rapid.SampledFrom([]string{"STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "OTHER", "NEW_REASON", "CONTINUATION"}).Draw(t, "reason")
	c := &genwayv1.Candidate{
		Index: index, NativeStopReason: word, StopMessage: rapid.SampledFrom([]string{"", "because"}).Draw(t, "message"),
		NativeFields: ownNatives(t, "safetyRatings", "avgLogprobs", "content.xNew", "logprobsResult.logProbabilitySum"),
	}
	seals := []genwayv1.Protocol{own, genwayv1.Protocol_PROTOCOL_MESSAGES}
	hidden := func(t *rapid.T) *genwayv1.Part {
		return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{
			EncryptedContent: seal(t, genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_RESPONSES)}}}
	}
	thought := func(t *rapid.T) *genwayv1.Part { return drawThinking(t, seals...) }
	kinds := []func(*rapid.T) *genwayv1.Part{drawText, drawMedia, drawCall, drawOpaque, thought, hidden}
	texts, called := 0, false
	for range rapid.IntRange(0, 5).Draw(t, "parts") {
		p := rapid.SampledFrom(kinds).Draw(t, "part kind")(t)
		if p.GetAudio() != nil && chance(t, "spoken") {
			p.GetAudio().Transcript = words(t, "transcript")
		}
		if streamed && len(c.Parts) > 0 {
			signSame(c.Parts[len(c.Parts)-1], p)
		}
		if p.GetText() != nil {
			texts++
		}
		called = called || p.GetToolCall() != nil
		c.Parts = append(c.Parts, p)
	}
	if texts == 1 {
		for _, p := range c.Parts {
			if p.GetText() != nil && p.GetText().Text != "" && len(p.NativeFields) == 0 {
				p.GetText().Logprobs = drawLogprobs(t)
			}
		}
	}
	c.StopReason = map[string]genwayv1.StopReason{
		"STOP": genwayv1.StopReason_STOP_REASON_END_TURN, "MAX_TOKENS": genwayv1.StopReason_STOP_REASON_MAX_TOKENS,
		"SAFETY": genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, "MALFORMED_FUNCTION_CALL": genwayv1.StopReason_STOP_REASON_ERROR,
		"OTHER": genwayv1.StopReason_STOP_REASON_OTHER, "NEW_REASON": genwayv1.StopReason_STOP_REASON_OTHER,
		"CONTINUATION": genwayv1.StopReason_STOP_REASON_PAUSE,
	}[word]
	if called && word == "STOP" {
		c.StopReason = genwayv1.StopReason_STOP_REASON_TOOL_CALL
	}
	if word == "NEW_REASON" {
		c.NativeFields = append(c.NativeFields, member.Mark(own, "finishReason"))
	}
	return c
}

// signSame signs a text or thought that is followed by one of its kind: without a
// signature they would stream as one.
func signSame(before, p *genwayv1.Part) {
	signature := &genwayv1.Seal{Protocol: own, Value: []byte("c2ln")}
	switch {
	case before.GetText() != nil && p.GetText() != nil:
		before.ThoughtSignature = signature
	case before.GetThinking() != nil && before.GetThinking().EncryptedContent == nil && p.GetThinking() != nil:
		before.GetThinking().Signature = signature
	}
}

func drawLogprobs(t *rapid.T) []*genwayv1.TokenLogprob {
	var tokens []*genwayv1.TokenLogprob
	for range rapid.IntRange(0, 3).Draw(t, "tokens") {
		one := &genwayv1.TokenLogprob{Token: rapid.String().Draw(t, "token"), Logprob: rapid.Float64Range(-20, 0).Draw(t, "p"), TokenId: maybe(t, "id", rapid.Int32())}
		if chance(t, "top") {
			one.Top = []*genwayv1.TokenLogprob{{Token: strings.ToUpper(one.Token), Logprob: -1}}
		}
		tokens = append(tokens, one)
	}
	return tokens
}

func drawUsage(t *rapid.T) *genwayv1.Usage {
	count := rapid.Int64Range(0, 1000)
	u := &genwayv1.Usage{
		InputTokens: count.Draw(t, "input"), CacheReadInputTokens: maybe(t, "cached", count),
		ThinkingTokens: maybe(t, "thoughts", count), ToolUseInputTokens: maybe(t, "tool use", count),
		InputTextTokens: maybe(t, "text in", count), InputImageTokens: maybe(t, "image in", count), InputAudioTokens: maybe(t, "audio in", count),
		OutputTextTokens: maybe(t, "text out", count), OutputImageTokens: maybe(t, "image out", count), OutputAudioTokens: maybe(t, "audio out", count),
		NativeFields: ownNatives(t, "trafficType"),
	}
	u.OutputTokens = u.GetThinkingTokens() + count.Draw(t, "output")
	u.InputTokens += u.GetToolUseInputTokens()
	u.TotalTokens = u.InputTokens + u.OutputTokens
	return u
}
