package codec

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// openPart gathers the pieces of the part that is being streamed.
type openPart struct {
	part  *genwayv1.Part
	text  strings.Builder
	input strings.Builder
	data  []byte
	// summaries of a thinking part, by index
	summaries []*strings.Builder
	script    strings.Builder
}

func open(part *genwayv1.Part) *openPart {
	o := &openPart{part: part}
	if o.part == nil {
		o.part = &genwayv1.Part{}
	}
	switch k := o.part.Kind.(type) {
	case *genwayv1.Part_Text:
		o.text.WriteString(k.Text.GetText())
	case *genwayv1.Part_Refusal:
		o.text.WriteString(k.Refusal.GetText())
	case *genwayv1.Part_Thinking:
		o.text.WriteString(k.Thinking.GetText())
		for _, s := range k.Thinking.GetSummary() {
			b := &strings.Builder{}
			b.WriteString(s)
			o.summaries = append(o.summaries, b)
		}
	case *genwayv1.Part_ToolCall:
		o.text.WriteString(k.ToolCall.GetArgumentsJson())
		o.input.WriteString(k.ToolCall.GetInput())
	}
	if m := MediaOf(o.part); m != nil {
		o.data = append(o.data, m.GetData()...)
		o.script.WriteString(m.GetTranscript())
	}
	return o
}

// MediaOf returns the image, audio, file or video of a part; nil for any other part.
func MediaOf(p *genwayv1.Part) *genwayv1.Media {
	for _, m := range []*genwayv1.Media{p.GetImage(), p.GetAudio(), p.GetFile(), p.GetVideo()} {
		if m != nil {
			return m
		}
	}
	return nil
}

// add adds a delta, which fits the part (Sequence).
func (o *openPart) add(d *genwayv1.PartDelta) {
	p := o.part
	switch v := d.GetDelta().(type) {
	case *genwayv1.PartDelta_Text:
		o.text.WriteString(v.Text)
		p.GetText().Logprobs = append(p.GetText().Logprobs, d.Logprobs...)
	case *genwayv1.PartDelta_Refusal:
		o.text.WriteString(v.Refusal)
		p.GetRefusal().Logprobs = append(p.GetRefusal().Logprobs, d.Logprobs...)
	case *genwayv1.PartDelta_ArgumentsJson:
		o.text.WriteString(v.ArgumentsJson)
	case *genwayv1.PartDelta_Input:
		if p.GetToolCall().Input == nil {
			p.GetToolCall().Input = new(string)
		}
		o.input.WriteString(v.Input)
	case *genwayv1.PartDelta_Citation:
		p.GetText().Citations = append(p.GetText().Citations, v.Citation)
	case *genwayv1.PartDelta_Data, *genwayv1.PartDelta_Transcript:
		o.data = append(o.data, d.GetData()...)
		o.script.WriteString(d.GetTranscript())
	case *genwayv1.PartDelta_Thinking:
		o.text.WriteString(v.Thinking)
	case *genwayv1.PartDelta_Summary:
		if int(v.Summary.GetIndex()) == len(o.summaries) {
			o.summaries = append(o.summaries, &strings.Builder{})
		}
		o.summaries[v.Summary.GetIndex()].WriteString(v.Summary.GetText())
	case *genwayv1.PartDelta_Signature:
		p.GetThinking().Signature = v.Signature
	case *genwayv1.PartDelta_EncryptedContent:
		p.GetThinking().EncryptedContent = v.EncryptedContent
	case *genwayv1.PartDelta_ThoughtSignature:
		p.ThoughtSignature = v.ThoughtSignature
	case *genwayv1.PartDelta_Native:
		p.NativeFields = append(p.NativeFields, v.Native)
	case nil:
		if p.GetText() != nil {
			p.GetText().Logprobs = append(p.GetText().Logprobs, d.Logprobs...)
		}
	}
}

func (o *openPart) close() *genwayv1.Part {
	switch k := o.part.Kind.(type) {
	case *genwayv1.Part_Text:
		k.Text.Text = o.text.String()
	case *genwayv1.Part_Refusal:
		k.Refusal.Text = o.text.String()
	case *genwayv1.Part_Thinking:
		k.Thinking.Text = o.text.String()
		k.Thinking.Summary = nil
		for _, s := range o.summaries {
			k.Thinking.Summary = append(k.Thinking.Summary, s.String())
		}
	case *genwayv1.Part_ToolCall:
		k.ToolCall.ArgumentsJson = o.text.String()
		if k.ToolCall.Input != nil {
			input := o.input.String()
			k.ToolCall.Input = &input
		}
	}
	if m := MediaOf(o.part); m != nil {
		if len(o.data) > 0 {
			m.Source = &genwayv1.Media_Data{Data: o.data}
		}
		m.Transcript = o.script.String()
	}
	return o.part
}
