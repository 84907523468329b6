package content

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/sandbox/media"
)

// sketchQuality is the quality of images in answers of text models.
const sketchQuality = "low"

// Part counts the tokens of a part of an answer.
func Part(p *genwayv1.Part) int { return part(new(tokens.Counter), p) }

func part(counter *tokens.Counter, p *genwayv1.Part) int {
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		return counter.Add(k.Text.GetText())
	case *genwayv1.Part_Refusal:
		return counter.Add(k.Refusal.GetText())
	case *genwayv1.Part_Thinking:
		return counter.Add(k.Thinking.GetText()) + counter.Add(strings.Join(k.Thinking.GetSummary(), ""))
	case *genwayv1.Part_ToolCall:
		return counter.Add(k.ToolCall.GetName()) + counter.Add(k.ToolCall.GetArgumentsJson()) + counter.Add(k.ToolCall.GetInput())
	case *genwayv1.Part_Audio:
		return Audio(k.Audio) + counter.Add(k.Audio.GetTranscript())
	case *genwayv1.Part_Image:
		info := media.Describe(k.Image.GetMimeType(), k.Image.GetData())
		return tokens.Drawing(info.Width, info.Height, sketchQuality)
	default:
		return 0
	}
}

// Answer counts the tokens of all candidates of an answer.
func Answer(resp *genwayv1.GenerateTextResponse) (sum int64) {
	var counter tokens.Counter
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			sum += int64(part(&counter, p))
		}
	}
	return sum
}
