package responses

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// streamedPart is a canonical part that has begun, and what of it has been sent.
type streamedPart struct {
	part *genwayv1.Part
	// place is that in the candidate, item that of its item in the output, content that in the
	// item.
	place, item, content int
	// id and name are a call's, which a receiver of the part may change.
	id, name string
	// text is the text of a text, a refusal or thinking.
	text sent
	// arguments are a call's arguments, or its input.
	arguments        strings.Builder
	logprobs, sealed bool
	citations        int
	summaries        []sent
	natives          []*genwayv1.NativeField
}

func (d *streamDecoder) emit(payload proto.Message) {
	d.events = append(d.events, codec.Event(payload))
}

// begin opens a part and closes the one before.
func (d *streamDecoder) begin(part *genwayv1.Part, content int) {
	if d.thought != nil {
		part.ThoughtSignature, d.thought = d.thought, nil
	}
	d.closePart(false)
	call := part.GetToolCall()
	d.part = &streamedPart{part: part, place: len(d.parts), content: content, id: call.GetId(), name: call.GetName()}
	if d.item != nil {
		d.part.item = d.item.index
	}
	if d.parts == nil {
		d.parts = d.few[:0]
	}
	d.parts = append(d.parts, d.part)
	d.called = d.called || call != nil
	d.Open(part)
}

// closePart closes the part that is open. A call that got no arguments has none (case T10), unless the
// answer was cut in it.
func (d *streamDecoder) closePart(cut bool) {
	if p := d.part; p != nil && !cut && p.name != "" && p.arguments.Len() == 0 && !codec.IsCustom(p.part.GetToolCall()) {
		d.argumentsDelta(noArguments)
	}
	d.part = nil
	d.Complete()
}

func (d *streamDecoder) textDelta(text string, logprobs []*genwayv1.TokenLogprob) {
	d.part.text.add(text)
	d.part.logprobs = d.part.logprobs || len(logprobs) > 0
	delta := codec.TextDelta(text)
	delta.Logprobs = logprobs
	d.Add(delta)
}

func (d *streamDecoder) refusalDelta(text string) {
	if text != "" {
		d.part.text.add(text)
		d.Add(codec.RefusalDelta(text))
	}
}

func (d *streamDecoder) citationDelta(c *genwayv1.Citation) {
	d.part.citations++
	d.Add(codec.CitationDelta(c))
}

func (d *streamDecoder) thinkingDelta(text string) {
	if text != "" {
		d.part.text.add(text)
		d.Add(codec.ThinkingDelta(text))
	}
}

// summaryDelta adds to a summary; those before it that had no text are opened too,
// as summaries count up from 0.
func (d *streamDecoder) summaryDelta(index int, text string) {
	for len(d.part.summaries) < index {
		d.summaryDelta(len(d.part.summaries), "")
	}
	if index == len(d.part.summaries) {
		d.part.summaries = append(d.part.summaries, sent{})
	}
	d.part.summaries[index].add(text)
	d.Add(codec.SummaryDelta(index, text))
}

func (d *streamDecoder) argumentsDelta(text string) {
	if text != "" {
		d.part.arguments.WriteString(text)
		d.Add(codec.ArgumentsDelta(text))
	}
}

func (d *streamDecoder) inputDelta(text string) {
	if text != "" {
		d.part.arguments.WriteString(text)
		d.Add(codec.InputDelta(text))
	}
}

// rest sends what of the whole part has not been sent in pieces.
func (d *streamDecoder) rest(whole *genwayv1.Part) error {
	p := d.part
	switch k := whole.Kind.(type) {
	case *genwayv1.Part_Text:
		if p.part.GetText() == nil {
			d.otherKind(whole, ".text")
			return nil
		}
		text, logprobs := d.restOf(p, &p.text, k.Text.GetText(), ".text"), k.Text.GetLogprobs()
		if p.logprobs {
			logprobs = nil
		}
		if text != "" || len(logprobs) > 0 {
			d.textDelta(text, logprobs)
		}
		for _, c := range k.Text.Citations[min(p.citations, len(k.Text.Citations)):] {
			d.citationDelta(c)
		}
	case *genwayv1.Part_Refusal:
		if p.part.GetRefusal() == nil {
			d.otherKind(whole, ".refusal")
			return nil
		}
		d.refusalDelta(d.restOf(p, &p.text, k.Refusal.GetText(), ".refusal"))
	case *genwayv1.Part_Thinking:
		if p.part.GetThinking() == nil {
			d.otherKind(whole, ".thinking")
			return nil
		}
		d.restOfThinking(k.Thinking)
	case *genwayv1.Part_ToolCall:
		rest, err := p.restOfCall(k.ToolCall)
		switch {
		case err != nil:
			return err
		case codec.IsCustom(k.ToolCall):
			d.inputDelta(rest)
		default:
			d.argumentsDelta(rest)
		}
	}
	for _, f := range whole.NativeFields {
		if !member.HasNative(p.part.NativeFields, f.Name) && !member.HasNative(p.natives, f.Name) {
			p.natives = append(p.natives, f)
			d.Add(codec.NativeDelta(f))
		}
	}
	return nil
}

// otherKind names a whole whose kind differs from what has been streamed.
func (d *streamDecoder) otherKind(whole *genwayv1.Part, field string) {
	if !blank(whole) {
		d.lose(d.part, field, another)
	}
}

func (d *streamDecoder) restOfThinking(t *genwayv1.Thinking) {
	p := d.part
	for i, summary := range t.Summary {
		d.restOfSummary(i, summary)
	}
	d.thinkingDelta(d.restOf(p, &p.text, t.Text, ".thinking"))
	if p.sealed {
		return
	}
	p.sealed = t.Signature != nil || t.EncryptedContent != nil
	if t.Signature != nil {
		d.Add(codec.SignatureDelta(t.Signature))
	}
	if t.EncryptedContent != nil {
		d.Add(codec.EncryptedDelta(t.EncryptedContent))
	}
}

// restOfSummary sends what is left of a summary. To one that others follow nothing can be added.
func (d *streamDecoder) restOfSummary(index int, whole string) {
	p := d.part
	if index >= len(p.summaries) {
		d.summaryDelta(index, whole)
		return
	}
	rest := d.restOf(p, &p.summaries[index], whole, ".thinking.summary")
	switch {
	case rest == "":
	case index < len(p.summaries)-1:
		d.lose(p, ".thinking.summary", late)
	default:
		d.summaryDelta(index, rest)
	}
}

// restOfCall returns what is left of the arguments or the input of a call.
func (p *streamedPart) restOfCall(whole *genwayv1.ToolCall) (string, error) {
	call := p.part.GetToolCall()
	if call == nil || p.id != whole.Id || p.name != whole.Name || codec.IsCustom(call) != codec.IsCustom(whole) {
		return "", p.contradicted()
	}
	if codec.IsCustom(whole) {
		return p.restOfArguments(whole.GetInput())
	}
	if whole.GetArgumentsJson() == noArguments && p.arguments.String() != "{" {
		return "", nil // which is what is read where an item does not have them
	}
	return p.restOfArguments(arguments(whole))
}
