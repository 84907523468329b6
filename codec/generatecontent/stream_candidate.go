package generatecontent

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// candidateStream is one candidate of a stream being read. Text and thoughts
// stream as parts of one kind, one a frame; they are one canonical part until a
// part of another kind or a signature ends it. Every other part is whole.
type candidateStream struct {
	index  int32
	next   int32
	open   *openText
	called bool
	texts  int
	// text is that of the text part begun last: citations count in it.
	text            strings.Builder
	reason, message string
	fields          []*genwayv1.NativeField
}

// openText is a part that may go on in the next frame.
type openText struct {
	thinking, signed bool
}

// frame gives the events of one frame.
func (c *candidateStream) frame(w *candidate, path string) ([]*event, error) {
	fields, err := w.natives(path)
	if err != nil {
		return nil, err
	}
	var parts []*genwayv1.Part
	if w.Content != nil {
		if parts, err = (reader{answer: true}).parts(w.Content.Parts, member.Place{In: &member.Place{Path: path}, Path: "content.parts"}); err != nil {
			return nil, err
		}
	}
	var first *genwayv1.Text
	texts := 0
	for _, p := range parts {
		if t := p.GetText(); t != nil {
			texts++
			if first == nil {
				first = t
			}
		}
	}
	fields = append(fields, w.logprobs(first, texts == 1)...)
	c.fields = merge(c.fields, fields)
	var events []*event
	for _, p := range parts {
		if says(p) || len(p.GetText().GetLogprobs()) > 0 {
			events = c.part(events, p)
		}
	}
	if w.FinishReason != "" {
		c.reason, c.message = w.FinishReason, w.FinishMessage
	}
	return events, nil
}

// part adds the events of one part to events.
func (c *candidateStream) part(events []*event, p *genwayv1.Part) []*event {
	t, thought := p.GetText(), p.GetThinking()
	streams := len(p.NativeFields) == 0 && (t != nil || thought != nil && thought.EncryptedContent == nil)
	if !streams || c.open == nil || c.open.signed || c.open.thinking != (thought != nil) {
		events = c.complete(events)
		events = append(events, codec.Event(&genwayv1.PartStarted{Candidate: c.index, Index: c.next, Part: opening(p)}))
		c.open = &openText{thinking: thought != nil, signed: !streams}
		if t != nil {
			c.texts++
			c.text.Reset()
		}
	}
	switch {
	case t != nil:
		if t.Text != "" || len(t.Logprobs) > 0 {
			c.text.WriteString(t.Text)
			delta := codec.TextDelta(t.Text)
			delta.Logprobs = t.Logprobs
			events = append(events, c.delta(delta))
		}
	case thought != nil:
		if thought.Text != "" {
			events = append(events, c.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Thinking{Thinking: thought.Text}}))
		}
		if thought.Signature != nil {
			c.open.signed = true
			events = append(events, c.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Signature{Signature: thought.Signature}}))
		}
		if thought.EncryptedContent != nil {
			events = append(events, c.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_EncryptedContent{EncryptedContent: thought.EncryptedContent}}))
		}
	case p.GetToolCall() != nil:
		c.called = true
		events = append(events, c.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ArgumentsJson{ArgumentsJson: p.GetToolCall().ArgumentsJson}}))
	}
	if p.ThoughtSignature != nil && p.GetToolCall() == nil {
		c.open.signed = true
		events = append(events, c.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ThoughtSignature{ThoughtSignature: p.ThoughtSignature}}))
	}
	if t == nil && thought == nil {
		events = c.complete(events)
	}
	return events
}

// opening is a part without what streams.
func opening(p *genwayv1.Part) *genwayv1.Part {
	o := &genwayv1.Part{NativeFields: p.NativeFields}
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Text:
		o.Kind = &genwayv1.Part_Text{Text: &genwayv1.Text{}}
	case *genwayv1.Part_Thinking:
		o.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{}}
	case *genwayv1.Part_ToolCall:
		call := proto.CloneOf(k.ToolCall)
		call.ArgumentsJson = ""
		// Encoders that write a call's signature ahead of it need it now.
		o.Kind, o.ThoughtSignature = &genwayv1.Part_ToolCall{ToolCall: call}, p.ThoughtSignature
	default:
		o.Kind = p.Kind
	}
	return o
}

func (c *candidateStream) delta(d *genwayv1.PartDelta) *event {
	d.Candidate, d.Index = c.index, c.next
	return codec.Event(d)
}

// complete ends the open part, if there is one.
func (c *candidateStream) complete(events []*event) []*event {
	if c.open == nil {
		return events
	}
	c.open = nil
	c.next++
	return append(events, codec.Event(&genwayv1.PartCompleted{Candidate: c.index, Index: c.next - 1}))
}

// end gives the last events of the candidate and how it ended. What supports the
// text is known only now; it can be said of the part that is still open.
func (c *candidateStream) end() ([]*event, *genwayv1.CandidateEnd) {
	var events []*event
	if c.texts == 1 && c.open != nil && !c.open.thinking {
		for _, cited := range citations(c.fields, c.text.String()) {
			events = append(events, c.delta(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Citation{Citation: cited}}))
		}
	}
	return c.complete(events), &genwayv1.CandidateEnd{
		Index: c.index, StopReason: stopReason(c.reason, c.called), NativeStopReason: c.reason,
		StopMessage: c.message, NativeFields: c.fields,
	}
}
