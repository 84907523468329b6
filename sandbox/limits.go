package sandbox

import (
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/internal/tokens/content"
)

// The largest values that are taken; what is above is refused.
const (
	maxCandidates    = 16
	maxTopLogprobs   = 20
	maxStopSequences = 64
)

// checkLimits refuses knobs no vendor takes, and more than the sandbox gives.
func checkLimits(req *genwayv1.GenerateTextRequest) error {
	if m := req.MaxOutputTokens; m != nil && *m < 1 {
		return fault.Invalid("max_output_tokens", "max_output_tokens must be at least 1, not %d", *m)
	}
	if len(req.GetStopSequences()) > maxStopSequences {
		return fault.Invalid("stop_sequences", "stop_sequences: at most %d are taken", maxStopSequences)
	}
	s := req.GetSampling()
	if s == nil {
		return nil
	}
	if n := s.CandidateCount; n != nil && (*n < 1 || *n > maxCandidates) {
		return fault.Invalid("sampling.candidate_count", "sampling.candidate_count must be between 1 and %d, not %d", maxCandidates, *n)
	}
	if n := s.TopLogprobs; n != nil && (*n < 0 || *n > maxTopLogprobs) {
		return fault.Invalid("sampling.top_logprobs", "sampling.top_logprobs must be between 0 and %d, not %d", maxTopLogprobs, *n)
	}
	return nil
}

// stop ends the candidate before the first stop sequence in its text. What begins
// earliest wins, and the longer one of two that begin at the same place. Only text
// the caller reads is looked at: not thinking, not arguments.
func stop(c *genwayv1.Candidate, sequences []string) {
	for i, p := range c.Parts {
		t := p.GetText()
		if t == nil {
			continue
		}
		at, found := -1, ""
		for _, s := range sequences {
			j := -1
			if s != "" {
				j = strings.Index(t.GetText(), s)
			}
			if j >= 0 && (at < 0 || j < at || j == at && len(s) > len(found)) {
				at, found = j, s
			}
		}
		if at < 0 {
			continue
		}
		cutText(c, i, t.GetText()[:at])
		c.StopReason = genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE
		c.StopSequence = &found
		return
	}
}

// truncate ends the candidate after limit tokens, between two tokens and never
// within a character. A tool call keeps the arguments it has got; one that is cut
// within its name is left out.
func truncate(c *genwayv1.Candidate, limit int) {
	for i, p := range c.Parts {
		cost := content.Part(p)
		if cost <= limit {
			limit -= cost
			continue
		}
		c.StopReason, c.StopSequence = genwayv1.StopReason_STOP_REASON_MAX_TOKENS, nil
		switch k := p.GetKind().(type) {
		case *genwayv1.Part_Text:
			text, _ := tokens.Cut(k.Text.GetText(), limit)
			cutText(c, i, text)
		case *genwayv1.Part_Refusal:
			k.Refusal.Text, _ = tokens.Cut(k.Refusal.GetText(), limit)
			c.Parts = c.Parts[:i+1]
		case *genwayv1.Part_ToolCall:
			cutCall(c, i, limit-tokens.Count(k.ToolCall.GetName()))
		default:
			c.Parts = c.Parts[:i]
		}
		return
	}
}

// cutText makes a shorter text the last part; an empty one is no part at all.
func cutText(c *genwayv1.Candidate, i int, text string) {
	t := c.Parts[i].GetText()
	t.Text = text
	var kept []*genwayv1.Citation
	for _, x := range t.GetCitations() {
		if int(x.GetEndIndex()) <= len([]rune(text)) {
			kept = append(kept, x)
		}
	}
	t.Citations = kept
	c.Parts = c.Parts[:i+1]
	if text == "" {
		c.Parts = c.Parts[:i]
	}
}

func cutCall(c *genwayv1.Candidate, i, limit int) {
	call := c.Parts[i].GetToolCall()
	arguments, _ := tokens.Cut(call.GetArgumentsJson(), limit)
	call.ArgumentsJson = arguments
	if call.Input != nil {
		input, _ := tokens.Cut(call.GetInput(), limit)
		call.Input = &input
	}
	c.Parts = c.Parts[:i+1]
	if arguments == "" && call.GetInput() == "" {
		c.Parts = c.Parts[:i]
	}
}
