package generatecontent

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/google"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// candidateStream is one candidate of a stream being read. Text and thoughts
// stream as parts of one kind, one a frame; they are one canonical part until a
// part of another kind or a signature ends it. Every other part is whole.
type candidateStream struct {
	codec.Emitter
	index int32
	// thinking says that the open part is thinking, signed that nothing goes on in it.
	thinking, signed bool
	called           bool
	// sound is the open part if it is a sound, which further parts may continue.
	sound *genwayv1.Part
	texts int
	// text is the text of the text part begun last: citations count in it.
	text            strings.Builder
	reason, message string
	fields          []*genwayv1.NativeField
}

// frame reads one frame.
func (c *candidateStream) frame(w *candidate, path string) error {
	fields, err := w.natives(path)
	if err != nil {
		return err
	}
	var parts []*genwayv1.Part
	if w.Content != nil {
		if parts, err = (reader{answer: true}).parts(w.Content.Parts, member.Place{In: &member.Place{Path: path}, Path: "content.parts"}); err != nil {
			return err
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
	for _, p := range parts {
		if says(p) || len(p.GetText().GetLogprobs()) > 0 {
			c.part(p)
		}
	}
	if w.FinishReason != "" {
		c.reason = w.FinishReason
	}
	if w.FinishMessage != "" {
		c.message = w.FinishMessage
	}
	return nil
}

// part emits one part, or what it adds to the open one.
func (c *candidateStream) part(p *genwayv1.Part) {
	if c.IsOpen() && google.Continues(c.sound, p) {
		c.Add(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Data{Data: p.GetAudio().GetData()}})
		return
	}
	c.sound = nil
	t, thought := p.GetText(), p.GetThinking()
	streams := len(p.NativeFields) == 0 && (t != nil || thought != nil && thought.EncryptedContent == nil)
	if !streams || !c.IsOpen() || c.signed || c.thinking != (thought != nil) {
		c.Open(opening(p))
		c.thinking, c.signed = thought != nil, !streams
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
			c.Add(delta)
		}
	case thought != nil:
		if thought.Text != "" {
			c.Add(codec.ThinkingDelta(thought.Text))
		}
		if thought.Signature != nil {
			c.signed = true
			c.Add(codec.SignatureDelta(thought.Signature))
		}
		if thought.EncryptedContent != nil {
			c.Add(codec.EncryptedDelta(thought.EncryptedContent))
		}
	case p.GetToolCall() != nil:
		c.called = true
		c.Add(codec.ArgumentsDelta(p.GetToolCall().GetArgumentsJson()))
	}
	if p.ThoughtSignature != nil && p.GetToolCall() == nil {
		c.signed = true
		c.Add(codec.ThoughtSignatureDelta(p.ThoughtSignature))
	}
	switch {
	case p.GetAudio() != nil && p.ThoughtSignature == nil:
		c.sound = p
	case t == nil && thought == nil:
		c.Complete()
	}
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
		call.Arguments = nil
		// Encoders that write a call's signature ahead of it need it now.
		o.Kind, o.ThoughtSignature = &genwayv1.Part_ToolCall{ToolCall: call}, p.ThoughtSignature
	default:
		o.Kind = p.Kind
	}
	return o
}

// end emits the last events of the candidate and returns how it ended. What supports the
// text is known only now; it can be added to the part that is still open.
func (c *candidateStream) end() *genwayv1.CandidateEnd {
	if c.texts == 1 && c.IsOpen() && !c.thinking && c.sound == nil {
		for _, cited := range citations(c.fields, c.text.String()) {
			c.Add(codec.CitationDelta(cited))
		}
	}
	c.Complete()
	return &genwayv1.CandidateEnd{
		Index: c.index, StopReason: stopReason(c.reason, c.called), NativeStopReason: c.reason,
		StopMessage: c.message, NativeFields: append(c.fields, unknownWord(c.reason)...),
	}
}
