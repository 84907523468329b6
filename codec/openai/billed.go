package openai

import (
	"cmp"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// toolTokens is the usage of a tool's own model: svg_usage (SDK: ImagesResponseSvgUsage), and image_gen of tool_usage
// (SDK: BetaResponseToolUsageImageGen).
type toolTokens struct {
	Model           string `json:"model"`
	InputTokens     int64  `json:"input_tokens"`
	OutputTokens    int64  `json:"output_tokens"`
	TotalTokens     int64  `json:"total_tokens"`
	CachedTokens    *int64 `json:"cached_tokens"`
	ReasoningTokens *int64 `json:"reasoning_tokens"`
	Input           struct {
		ImageTokens *int64 `json:"image_tokens"`
	} `json:"input_tokens_details"`
	Output struct {
		ImageTokens *int64 `json:"image_tokens"`
	} `json:"output_tokens_details"`
}

// ModelUsage reads what a tool's own model used beside an answer: one usage, or none where nothing was used. model is
// the model's name where the usage has none.
func ModelUsage(kind, model string, usage jsontext.Value) []*genwayv1.ModelUsage {
	if len(usage) == 0 { // as of nearly all answers
		return nil
	}
	var t toolTokens
	member.Fit(usage, &t)
	if t.InputTokens == 0 && t.OutputTokens == 0 && t.TotalTokens == 0 {
		return nil
	}
	return []*genwayv1.ModelUsage{{Kind: kind, Model: cmp.Or(t.Model, model), Usage: codec.Completed(&genwayv1.Usage{
		InputTokens: t.InputTokens, OutputTokens: t.OutputTokens, TotalTokens: t.TotalTokens, CacheReadInputTokens: t.CachedTokens,
		ThinkingTokens: t.ReasoningTokens, InputImageTokens: t.Input.ImageTokens, OutputImageTokens: t.Output.ImageTokens,
	})}}
}
