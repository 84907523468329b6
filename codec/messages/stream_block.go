package messages

import (
	"bytes"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// openBlock is the block of a stream that is being decoded.
type openBlock struct {
	index int
	kind  string
	// part opens the part; opened says that it has.
	part   *genwayv1.Part
	opened bool
	// input are the arguments a tool_use began with, for want of deltas.
	input     string
	argued    bool
	signature strings.Builder
	// raw and the gathered members are a block that streams as a whole.
	raw    jsontext.Value
	pieces map[string]*strings.Builder
	set    []member.Member
}

// block applies an event of a block, now or when the block before it has closed.
func (d *streamDecoder) block(e *streamEvent) (events, error) {
	if d.open != nil && d.open.index != e.Index {
		kept := *e // which is used for the next event
		d.later = append(d.later, &kept)
		return nil, nil
	}
	var out events
	var err error
	switch e.Type {
	case "content_block_start":
		if d.open == nil {
			out, err = d.openBlock(e)
		}
	case "content_block_delta":
		switch {
		case !knownDeltas[e.Delta.Type] && (d.open == nil || d.open.raw == nil):
			d.losses.Add(member.Join(member.Index("content", e.Index), e.Delta.Type), unknownType)
			return nil, nil
		case d.open == nil:
			return nil, disorder("a delta for no open block")
		}
		out, err = d.delta(&e.Delta)
	case "content_block_stop":
		if d.open != nil {
			out, err = d.closeBlock()
		}
	}
	if err != nil || d.open != nil {
		return out, err
	}
	waiting := d.later
	d.later = nil
	for _, e := range waiting {
		more, err := d.block(e)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func (d *streamDecoder) openBlock(e *streamEvent) (events, error) {
	kind := memberText(e.ContentBlock, "type")
	b := &openBlock{index: e.Index, kind: kind}
	d.open = b
	switch kind {
	case "text", "thinking", "tool_use":
		part, err := decodeBlock(kind, e.ContentBlock, member.Place{Path: "content_block"})
		if err != nil {
			return nil, malformed(err)
		}
		return d.openPart(part), nil
	case "":
		return nil, disorder("a block without a type")
	}
	b.raw = bytes.Clone(e.ContentBlock)
	return nil, nil
}

// openPart begins a part whose text, reasoning or arguments stream: what the block
// begins with comes as the first delta, and nothing is opened for an empty text
// (case T2).
func (d *streamDecoder) openPart(part *genwayv1.Part) events {
	b := d.open
	b.part = part
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Text:
		text, cited := k.Text.Text, k.Text.Citations
		k.Text.Text, k.Text.Citations = "", nil
		out := d.text(text)
		for _, c := range cited {
			out = append(out, d.send(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Citation{Citation: c}})...)
		}
		return out
	case *genwayv1.Part_Thinking:
		text := k.Thinking.Text
		var textSb103 strings.Builder
		for _, summary := range k.Thinking.Summary {
			textSb103.WriteString(summary)
		}
		text += textSb103.String()
		for _, seal := range []*genwayv1.Seal{k.Thinking.Signature, k.Thinking.EncryptedContent} {
			b.signature.WriteString(codec.SealText(seal, protocol, false))
		}
		part.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{}}
		return d.reasoning(text)
	default:
		b.input = part.GetToolCall().GetArgumentsJson()
		part.GetToolCall().ArgumentsJson = ""
		return d.begin()
	}
}

// knownDeltas are the types of deltas that text, thinking and calls stream by.
var knownDeltas = map[string]bool{
	"text_delta": true, "citations_delta": true, "thinking_delta": true, "signature_delta": true, "input_json_delta": true,
}

func (d *streamDecoder) delta(delta *streamDelta) (events, error) {
	b := d.open
	switch {
	case b.raw != nil:
		b.gather(delta)
		return nil, nil
	case b.kind == "text" && delta.Type == "text_delta":
		return d.text(delta.Text), nil
	case b.kind == "text" && delta.Type == "citations_delta":
		c, err := decodeCitation(delta.Citation, "citation")
		if err != nil {
			return nil, malformed(err)
		}
		return d.send(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Citation{Citation: c}}), nil
	case b.kind == "thinking" && delta.Type == "thinking_delta":
		return d.reasoning(delta.Thinking), nil
	case b.kind == "thinking" && delta.Type == "signature_delta":
		b.signature.WriteString(delta.Signature)
		return nil, nil
	case b.kind == "tool_use" && delta.Type == "input_json_delta":
		return d.arguments(delta.PartialJSON), nil
	}
	return nil, disorder("a " + delta.Type + " in a block of type " + b.kind)
}

func (d *streamDecoder) text(text string) events {
	if text == "" {
		return nil
	}
	return d.send(codec.TextDelta(text))
}

func (d *streamDecoder) reasoning(text string) events {
	if text == "" {
		return nil
	}
	return d.send(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Thinking{Thinking: text}})
}

func (d *streamDecoder) arguments(piece string) events {
	if piece == "" {
		return nil
	}
	d.open.argued = true
	return d.send(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ArgumentsJson{ArgumentsJson: piece}})
}

// send gives a delta of the open part, behind its opening if that is still to come.
func (d *streamDecoder) send(delta *genwayv1.PartDelta) events {
	out := d.begin()
	delta.Index = d.next
	return append(out, codec.Event(delta))
}

func (d *streamDecoder) begin() events {
	b := d.open
	if b.opened {
		return nil
	}
	b.opened = true
	b.part.ThoughtSignature, d.pending = d.pending, nil
	return events{codec.Event(&genwayv1.PartStarted{Index: d.next, Part: b.part})}
}

func (d *streamDecoder) closeBlock() (events, error) {
	b := d.open
	if b.raw != nil {
		return d.closeWhole()
	}
	var out events
	switch b.kind {
	case "thinking":
		if seal := codec.ParseSeal(b.signature.String(), protocol); seal.GetOrigin() == genwayv1.Protocol_PROTOCOL_RESPONSES {
			out = d.send(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_EncryptedContent{EncryptedContent: seal}})
		} else if seal != nil {
			out = d.send(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Signature{Signature: seal}})
		}
	case "tool_use":
		if !b.argued {
			out = d.arguments(b.input)
		}
	}
	d.open = nil
	if !b.opened {
		return out, nil
	}
	d.next++
	return append(out, codec.Event(&genwayv1.PartCompleted{Index: d.next - 1})), nil
}
