package messages

import (
	"bytes"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// openBlock is the block of a stream that is being decoded.
type openBlock struct {
	index int
	kind  string
	// id is that of a tool_use.
	id string
	// part opens the part.
	part *genwayv1.Part
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
func (d *streamDecoder) block(e *streamEvent) error {
	if d.open != nil && d.open.index != e.Index {
		kept := *e // which is used for the next event
		d.later = append(d.later, &kept)
		return nil
	}
	var err error
	switch e.Type {
	case "content_block_start":
		switch {
		case d.open == nil:
			err = d.openBlock(e)
		case d.open.follows(e.ContentBlock):
			if err = d.closeBlock(); err == nil {
				err = d.openBlock(e)
			}
		}
	case "content_block_delta":
		switch {
		case !knownDeltas[e.Delta.Type] && (d.open == nil || d.open.raw == nil):
			d.losses.Add(member.Join(member.Index("content", e.Index), e.Delta.Type), unknownType)
			return nil
		case d.open == nil:
			return disorder("a delta for no open block")
		}
		err = d.delta(&e.Delta)
	case "content_block_stop":
		if d.open != nil {
			err = d.closeBlock()
		}
	}
	if err != nil || d.open != nil {
		return err
	}
	waiting := d.later
	d.later = nil
	for _, e := range waiting {
		if err := d.block(e); err != nil {
			return err
		}
	}
	return nil
}

// follows reports whether a block that begins in the place of an open one is another one, and not
// the same once more (case T11).
func (b *openBlock) follows(raw jsontext.Value) bool {
	if memberText(raw, "type") != b.kind {
		return true
	}
	return b.kind == "tool_use" && codec.DecodeToolID(memberText(raw, "id")) != b.id
}

func (d *streamDecoder) openBlock(e *streamEvent) error {
	d.closeCall(false)
	kind := memberText(e.ContentBlock, "type")
	b := &openBlock{index: e.Index, kind: kind}
	d.open = b
	switch kind {
	case "text", "thinking", "tool_use":
		part, err := decodeBlock(kind, e.ContentBlock, member.Place{Path: "content_block"})
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		d.openPart(part)
		return nil
	case "":
		return disorder("a block without a type")
	}
	b.raw = bytes.Clone(e.ContentBlock)
	return nil
}

// openPart begins a part whose text, reasoning or arguments stream: what the block
// begins with comes as the first delta, and nothing is opened for an empty text
// (case T2).
func (d *streamDecoder) openPart(part *genwayv1.Part) {
	b := d.open
	b.part = part
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Text:
		text, cited := k.Text.Text, k.Text.Citations
		k.Text.Text, k.Text.Citations = "", nil
		d.text(text)
		for _, c := range cited {
			d.send(codec.CitationDelta(c))
		}
	case *genwayv1.Part_Thinking:
		text := k.Thinking.Text + strings.Join(k.Thinking.Summary, "")
		for _, seal := range []*genwayv1.Seal{k.Thinking.Signature, k.Thinking.EncryptedContent} {
			b.signature.WriteString(codec.SealText(seal, protocol, false))
		}
		part.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{}}
		d.reasoning(text)
	default:
		b.id, b.input = part.GetToolCall().GetId(), part.GetToolCall().GetArgumentsJson()
		part.GetToolCall().ArgumentsJson = ""
		d.begin()
	}
}

// knownDeltas are the types of deltas that text, thinking and calls stream by.
var knownDeltas = map[string]bool{
	"text_delta": true, "citations_delta": true, "thinking_delta": true, "signature_delta": true, "input_json_delta": true,
}

func (d *streamDecoder) delta(delta *streamDelta) error {
	b := d.open
	switch {
	case b.raw != nil:
		b.gather(delta)
	case b.kind == "text" && delta.Type == "text_delta":
		d.text(delta.Text)
	case b.kind == "text" && delta.Type == "citations_delta":
		c, err := decodeCitation(delta.Citation, "citation")
		if err != nil {
			return fault.MalformedAnswer(err)
		}
		d.send(codec.CitationDelta(c))
	case b.kind == "thinking" && delta.Type == "thinking_delta":
		d.reasoning(delta.Thinking)
	case b.kind == "thinking" && delta.Type == "signature_delta":
		b.signature.WriteString(delta.Signature)
	case b.kind == "tool_use" && delta.Type == "input_json_delta":
		d.arguments(delta.PartialJSON)
	default:
		return disorder("a " + delta.Type + " in a block of type " + b.kind)
	}
	return nil
}

func (d *streamDecoder) text(text string) {
	if text != "" {
		d.send(codec.TextDelta(text))
	}
}

func (d *streamDecoder) reasoning(text string) {
	if text != "" {
		d.send(codec.ThinkingDelta(text))
	}
}

func (d *streamDecoder) arguments(piece string) {
	if piece != "" {
		d.open.argued = true
		d.send(codec.ArgumentsDelta(piece))
	}
}

// send emits a delta of the open block's part, which it opens if that is still to come.
func (d *streamDecoder) send(delta *genwayv1.PartDelta) {
	d.begin()
	d.Add(delta)
}

func (d *streamDecoder) begin() {
	if d.IsOpen() {
		return
	}
	d.open.part.ThoughtSignature, d.pending = d.pending, nil
	d.Open(d.open.part)
}

func (d *streamDecoder) closeBlock() error {
	b := d.open
	if b.raw != nil {
		return d.closeWhole()
	}
	switch b.kind {
	case "thinking":
		if seal := codec.ParseSeal(b.signature.String(), protocol); seal.GetOrigin() == genwayv1.Protocol_PROTOCOL_RESPONSES {
			d.send(codec.EncryptedDelta(seal))
		} else if seal != nil {
			d.send(codec.SignatureDelta(seal))
		}
	case "tool_use":
		d.open, d.called = nil, b
		return nil
	}
	d.open = nil
	d.Complete()
	return nil
}

// closeCall closes the part of a call whose block has ended. It stays open until it is known whether the
// answer was cut there: a block without deltas then has no input yet, else the one that it began with.
func (d *streamDecoder) closeCall(cut bool) {
	b := d.called
	if b == nil {
		return
	}
	d.called = nil
	if !b.argued && b.input != "" && !(cut && isEmptyObject(b.input)) {
		d.Add(codec.ArgumentsDelta(b.input))
	}
	d.Complete()
}

// isEmptyObject reports whether the input of a call has no members.
func isEmptyObject(input string) bool { return strings.Trim(input, "{ \t\r\n}") == "" }
