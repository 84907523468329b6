package content

import (
	"strings"

	"github.com/genway/genway/core/sandbox/media"
	"github.com/genway/genway/core/tokens"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// sketchQuality is that of images in answers of text models.
const sketchQuality = "low"

// Part counts the tokens of a part of an answer.
func Part(p *genwayv1.Part) int {
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		return tokens.Count(k.Text.GetText())
	case *genwayv1.Part_Refusal:
		return tokens.Count(k.Refusal.GetText())
	case *genwayv1.Part_Thinking:
		return tokens.Count(k.Thinking.GetText()) + tokens.Count(strings.Join(k.Thinking.GetSummary(), ""))
	case *genwayv1.Part_ToolCall:
		return tokens.Count(k.ToolCall.GetName()) + tokens.Count(k.ToolCall.GetArgumentsJson()) + tokens.Count(k.ToolCall.GetInput())
	case *genwayv1.Part_Audio:
		return Audio(k.Audio) + tokens.Count(k.Audio.GetTranscript())
	case *genwayv1.Part_Image:
		info := media.Describe(k.Image.GetMediaType(), k.Image.GetData())
		return tokens.Drawing(info.Width, info.Height, sketchQuality)
	default:
		return 0
	}
}

// Answer counts the tokens of all candidates of an answer.
func Answer(resp *genwayv1.GenerateTextResponse) (sum int64) {
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			sum += int64(Part(p))
		}
	}
	return sum
}
