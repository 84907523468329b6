package sandbox

import (
	"strings"
	"unicode/utf8"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
)

// lengthen repeats a sentence behind a text until there are at least n tokens.
func lengthen(text string, n int) string {
	const sentence = "\nThe sandbox goes on, since the model's name asks for a long answer."
	each := tokens.Count(sentence)
	// Tokens may join at the seams, so the estimate is checked.
	for have := tokens.Count(text); have < n; have = tokens.Count(text) {
		text += strings.Repeat(sentence, (n-have)/each+1)
	}
	return text
}

func (a *answer) empty() {
	for _, c := range a.resp.Candidates {
		c.Parts, c.StopReason, c.StopSequence = nil, genwayv1.StopReason_STOP_REASON_END_TURN, nil
	}
}

func (a *answer) refuse() {
	for _, c := range a.resp.Candidates {
		c.Parts = []*genwayv1.Part{{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{
			Text: "The sandbox declines to answer, since the model's name asks it to."}}}}
		c.StopReason, c.StopSequence = genwayv1.StopReason_STOP_REASON_REFUSAL, nil
	}
}

func (a *answer) filter() {
	for _, c := range a.resp.Candidates {
		for i, p := range c.Parts {
			if t := p.GetText(); t != nil {
				cutText(c, i, head(t.Text, utf8.RuneCountInString(t.Text)/2))
				break
			}
		}
		c.StopReason, c.StopSequence = genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, nil
	}
}

func (a *answer) block() {
	a.resp.Candidates = nil
	a.output, a.thinking = 0, 0
	a.resp.PromptFeedback = &genwayv1.PromptFeedback{
		BlockReason: "OTHER",
		Message:     "The sandbox blocks the prompt, since the model's name asks it to.",
	}
}

func (a *answer) redact() {
	for _, c := range a.resp.Candidates {
		c.Parts = append([]*genwayv1.Part{redacted(a.req)}, c.Parts...)
	}
}

// pause ends the turn as one to be sent back; one that was sent back has its end, as
// callers wait for it.
func (a *answer) pause() {
	if a.conversation.resumed {
		return
	}
	for _, c := range a.resp.Candidates {
		c.StopReason, c.StopSequence = genwayv1.StopReason_STOP_REASON_PAUSE, nil
	}
}

// cite lets the whole of each text be supported by a page that does not exist and,
// where the turn has one, by its first file.
func (a *answer) cite() {
	file := a.firstFile()
	for _, c := range a.resp.Candidates {
		for _, p := range c.Parts {
			t := p.GetText()
			if t == nil {
				continue
			}
			start, end := int32(0), int32(utf8.RuneCountInString(t.Text))
			t.Citations = append(t.Citations, &genwayv1.Citation{
				Title: "A page for examples", Url: "https://example.com/sandbox",
				CitedText: "An example.", StartIndex: &start, EndIndex: &end,
			})
			if file != nil {
				t.Citations = append(t.Citations, &genwayv1.Citation{
					Title: file.GetFilename(), Filename: file.GetFilename(), FileId: file.GetFileId(),
					DocumentIndex: new(int32(0)), StartIndex: &start, EndIndex: &end,
				})
			}
		}
	}
}

func (a *answer) firstFile() *genwayv1.Media {
	for _, m := range a.conversation.turn {
		for _, p := range m.GetParts() {
			if p.GetFile() != nil {
				return p.GetFile()
			}
		}
	}
	return nil
}
