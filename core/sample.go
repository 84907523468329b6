package core

import (
	"math/bits"
	"sync/atomic"

	"github.com/genway/genway/core/amount"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
)

const (
	// maxSample bounds the text of a stream that is kept to count it, in bytes.
	maxSample = 4 << 10
	// textBytesPerToken is what a token of text is on average: English has four or five bytes
	// a token, code and other scripts three.
	textBytesPerToken = 4
)

// sample is what was seen of a streamed answer on its way to its caller, to count its tokens by.
type sample struct {
	// text is the bytes of its text, of which first has the first.
	text  int64
	first []byte
	// frames is what flowOf makes of frames that pass through.
	frames int64
}

// add adds an event.
func (s *sample) add(ev *genwayv1.StreamGenerateTextResponse) {
	if ev.GetWire() != nil {
		s.frames += int64(flowOf(ev))
		return
	}
	text := wordsOf(ev)
	if text == "" {
		return
	}
	s.text += int64(len(text))
	if room := maxSample - len(s.first); room > 0 {
		if s.first == nil {
			s.first = make([]byte, 0, maxSample/4)
		}
		s.first = append(s.first, text[:min(room, len(text))]...)
	}
}

// tokens counts what was seen: the text that was kept exactly, and the rest in proportion.
// flow is the bytes of text in frames that pass through; nil if they are not counted.
func (s *sample) tokens(flow *atomic.Int64) int64 {
	of := int64(0)
	if len(s.first) > 0 {
		high, low := bits.Mul64(uint64(tokens.Count(string(s.first))), uint64(s.text))
		quotient, _ := bits.Div64(high, low, uint64(len(s.first)))
		of = int64(quotient)
	}
	frames := s.frames / bytesPerToken
	if flow != nil {
		frames = (flow.Load() + textBytesPerToken - 1) / textBytesPerToken
	}
	return amount.Sum(of, frames)
}

// wordsOf gives the text of an answer in one event of its stream: what tokens are made of.
// Several texts of an event are one. Frames that are passed through have none.
func wordsOf(ev *genwayv1.StreamGenerateTextResponse) string {
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		part := p.PartStarted.GetPart()
		switch k := part.GetKind().(type) {
		case *genwayv1.Part_Text:
			return k.Text.GetText()
		case *genwayv1.Part_Thinking:
			return k.Thinking.GetText()
		case *genwayv1.Part_Refusal:
			return k.Refusal.GetText()
		case *genwayv1.Part_ToolCall:
			return k.ToolCall.GetName() + k.ToolCall.GetArgumentsJson() + k.ToolCall.GetInput()
		}
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		switch d := p.PartDelta.GetDelta().(type) {
		case *genwayv1.PartDelta_Text:
			return d.Text
		case *genwayv1.PartDelta_Thinking:
			return d.Thinking
		case *genwayv1.PartDelta_Summary:
			return d.Summary.GetText()
		case *genwayv1.PartDelta_ArgumentsJson:
			return d.ArgumentsJson
		case *genwayv1.PartDelta_Input:
			return d.Input
		case *genwayv1.PartDelta_Refusal:
			return d.Refusal
		case *genwayv1.PartDelta_Transcript:
			return d.Transcript
		}
	}
	return ""
}
