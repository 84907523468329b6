package messages

import (
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// outBlock is the block of the part that is being encoded.
type outBlock struct {
	answerPart
	// opened says that content_block_start was sent, shown that a piece of thinking was,
	// of that place.
	opened, shown bool
	// redacted says that thinking ended with nothing to show of it.
	redacted bool
	place    int32
	// input gathers the free-form input of a custom tool's call, written the arguments of
	// another's.
	input   *strings.Builder
	written strings.Builder
	// Seals wait for the end of the block (case R3). late is a thought signature
	// that was not known at its start.
	signature, encrypted, late *genwayv1.Seal
}

func (e *streamEncoder) partStarted(s *genwayv1.PartStarted) error {
	if e.skips(s.Candidate) {
		return nil
	}
	if e.open != nil {
		return disorder("a part starts within another")
	}
	if e.broken != nil {
		return codec.BrokenArguments(e.broken.GetName())
	}
	e.sendBare()
	p := s.GetPart()
	e.open = &outBlock{answerPart: answerPart{Part: p, path: e.path(s.Index), callID: callID(p, e.id, int(s.Index))}}
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		e.text(k.Text.GetText())
		for _, c := range k.Text.GetCitations() {
			e.citation(c)
		}
	case *genwayv1.Part_Refusal:
		e.how.refusals = true
		e.text(k.Refusal.GetText())
	case *genwayv1.Part_Thinking:
		for i, summary := range k.Thinking.GetSummary() {
			e.thinking(int32(i), summary)
		}
		e.thinking(textPlace, k.Thinking.GetText())
		e.open.signature, e.open.encrypted = k.Thinking.GetSignature(), k.Thinking.GetEncryptedContent()
	case *genwayv1.Part_ToolCall:
		e.how.calls = true
		if k.ToolCall.Input != nil {
			e.openBlock()
			e.input(k.ToolCall.GetInput())
		}
		e.arguments(k.ToolCall.GetArgumentsJson())
	case *genwayv1.Part_Opaque:
		if k.Opaque.GetProtocol() == protocol {
			e.openBlock()
			return nil
		}
		e.losses.Add(e.open.path+".opaque", foreignOpaque(k.Opaque))
	default:
		e.losses.Add(e.open.path, unshown)
	}
	return nil
}

func (e *streamEncoder) partDelta(d *genwayv1.PartDelta) error {
	if !e.chosen.Is(d.Candidate) {
		return nil
	}
	b := e.open
	if b == nil {
		return disorder("a delta belongs to no open part")
	}
	switch v := d.GetDelta().(type) {
	case *genwayv1.PartDelta_Text:
		e.text(v.Text)
	case *genwayv1.PartDelta_Refusal:
		e.text(v.Refusal)
	case *genwayv1.PartDelta_Citation:
		e.citation(v.Citation)
	case *genwayv1.PartDelta_Thinking:
		e.thinking(textPlace, v.Thinking)
	case *genwayv1.PartDelta_Summary:
		e.thinking(v.Summary.GetIndex(), v.Summary.GetText())
	case *genwayv1.PartDelta_Signature:
		b.signature = v.Signature
	case *genwayv1.PartDelta_EncryptedContent:
		b.encrypted = v.EncryptedContent
	case *genwayv1.PartDelta_ArgumentsJson:
		e.arguments(v.ArgumentsJson)
	case *genwayv1.PartDelta_Input:
		e.input(v.Input)
	case *genwayv1.PartDelta_ThoughtSignature:
		b.late = v.ThoughtSignature
	}
	return nil
}

func (e *streamEncoder) partCompleted(c *genwayv1.PartCompleted) error {
	if !e.chosen.Is(c.Candidate) {
		return nil
	}
	b := e.open
	if b == nil {
		return disorder("a part ends that is not open")
	}
	switch {
	case b.input != nil:
		e.arguments(codec.FreeFormArguments(b.input.String()))
	case b.GetToolCall() != nil && codec.AreNone(b.written.String()):
		e.bare, e.open = b, nil
		return nil
	case b.GetToolCall() != nil && !codec.AreObject(b.written.String()):
		e.broken, e.open = b.GetToolCall(), nil
		return nil
	case b.GetThinking() != nil:
		e.sealThinking()
	}
	e.endBlock()
	return nil
}

// endBlock ends the block of the open part.
func (e *streamEncoder) endBlock() {
	b := e.open
	if b.opened {
		e.closeBlock()
	}
	e.open = nil
	switch {
	case b.GetToolCall() == nil:
		if b.late != nil || b.ThoughtSignature != nil {
			e.losses.Add(b.path+".thought_signature", unsigned)
		}
	case b.late != nil:
		e.carry(b.late, carrierPrev)
	}
}

// sendBare sends the block of a call that turns out to have no arguments, which is an empty object (case T10).
func (e *streamEncoder) sendBare() {
	if e.bare == nil {
		return
	}
	e.open, e.bare = e.bare, nil
	e.arguments("{}")
	e.endBlock()
}

// textPlace is the place of the text of thinking beside those of its summaries.
const textPlace = -1

func (e *streamEncoder) text(text string) {
	if text != "" {
		e.delta("text_delta", "text", text)
	}
}

// thinking shows a piece of the summary of that index, or of the text in place -1, as
// codec.ThinkingText does.
func (e *streamEncoder) thinking(place int32, text string) {
	b := e.open
	if text == "" {
		return
	}
	if b.shown && b.place != place {
		text = codec.SummaryBreak + text
	}
	b.shown, b.place = true, place
	e.delta("thinking_delta", "thinking", text)
}

// arguments writes a piece of the arguments of a call, whose block begins with the first of them.
func (e *streamEncoder) arguments(piece string) {
	if piece == "" {
		return
	}
	b := e.open
	b.written.WriteString(piece)
	if !b.opened {
		if piece = b.written.String(); codec.AreNone(piece) {
			return
		}
	}
	e.delta("input_json_delta", "partial_json", piece)
}

func (e *streamEncoder) input(piece string) {
	if e.open.input == nil {
		e.open.input = &strings.Builder{}
	}
	e.open.input.WriteString(piece)
}
