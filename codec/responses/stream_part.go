package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// streamedPart is a canonical part that is open, and what of it has been sent.
type streamedPart struct {
	part                 *genwayv1.Part
	text, logprobs       bool
	citations, summaries int
}

func (d *streamDecoder) emit(payload proto.Message) {
	d.events = append(d.events, codec.Event(payload))
}

// begin opens a part and closes the one before.
func (d *streamDecoder) begin(part *genwayv1.Part) {
	if d.thought != nil {
		part.ThoughtSignature, d.thought = d.thought, nil
	}
	d.part = &streamedPart{part: part}
	d.called = d.called || part.GetToolCall() != nil
	d.Open(part)
}

func (d *streamDecoder) textDelta(text string, logprobs []*genwayv1.TokenLogprob) {
	d.part.text = d.part.text || text != ""
	d.part.logprobs = d.part.logprobs || len(logprobs) > 0
	delta := codec.TextDelta(text)
	delta.Logprobs = logprobs
	d.Add(delta)
}

func (d *streamDecoder) refusalDelta(text string) {
	d.part.text = true
	d.Add(codec.RefusalDelta(text))
}

func (d *streamDecoder) citationDelta(c *genwayv1.Citation) {
	d.part.citations++
	d.Add(codec.CitationDelta(c))
}

func (d *streamDecoder) thinkingDelta(text string) {
	d.part.text = true
	d.Add(codec.ThinkingDelta(text))
}

// summaryDelta adds to a summary; those before it that had no text are opened too,
// as summaries count up from 0.
func (d *streamDecoder) summaryDelta(index int, text string) {
	for d.part.summaries < index {
		d.summaryDelta(d.part.summaries, "")
	}
	if index == d.part.summaries {
		d.part.summaries++
	}
	d.Add(codec.SummaryDelta(index, text))
}

func (d *streamDecoder) argumentsDelta(text string) {
	d.part.text = true
	d.Add(codec.ArgumentsDelta(text))
}

func (d *streamDecoder) inputDelta(text string) {
	d.part.text = true
	d.Add(codec.InputDelta(text))
}

// rest sends what of the whole part has not been sent in pieces.
func (d *streamDecoder) rest(whole *genwayv1.Part) {
	sent := d.part
	switch k := whole.Kind.(type) {
	case *genwayv1.Part_Text:
		if sent.part.GetText() == nil {
			return
		}
		text, logprobs := k.Text.GetText(), k.Text.GetLogprobs()
		if sent.text {
			text = ""
		}
		if sent.logprobs {
			logprobs = nil
		}
		if text != "" || len(logprobs) > 0 {
			d.textDelta(text, logprobs)
		}
		for _, c := range k.Text.Citations[min(sent.citations, len(k.Text.Citations)):] {
			d.citationDelta(c)
		}
	case *genwayv1.Part_Refusal:
		if sent.part.GetRefusal() != nil && !sent.text && k.Refusal.GetText() != "" {
			d.refusalDelta(k.Refusal.Text)
		}
	case *genwayv1.Part_Thinking:
		d.restOfThinking(k.Thinking)
	case *genwayv1.Part_ToolCall:
		d.restOfCall(k.ToolCall)
	}
	for _, f := range whole.NativeFields {
		if !member.HasNative(sent.part.NativeFields, f.Name) {
			d.Add(codec.NativeDelta(f))
		}
	}
}

func (d *streamDecoder) restOfThinking(t *genwayv1.Thinking) {
	sent := d.part
	if sent.part.GetThinking() == nil {
		return
	}
	for i := sent.summaries; i < len(t.Summary); i++ {
		d.summaryDelta(i, t.Summary[i])
	}
	if !sent.text && t.Text != "" {
		d.thinkingDelta(t.Text)
	}
	if t.Signature != nil {
		d.Add(codec.SignatureDelta(t.Signature))
	}
	if t.EncryptedContent != nil {
		d.Add(codec.EncryptedDelta(t.EncryptedContent))
	}
}

func (d *streamDecoder) restOfCall(call *genwayv1.ToolCall) {
	sent := d.part
	switch {
	case sent.part.GetToolCall() == nil || sent.text:
	case call.Input != nil:
		if *call.Input != "" {
			d.inputDelta(*call.Input)
		}
	default:
		d.argumentsDelta(arguments(call))
	}
}
