package chat

import (
	"strconv"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

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

// replaceNatives returns the fields with those of later in the place of their
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
