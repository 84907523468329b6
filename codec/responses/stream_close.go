package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// closing writes the end of a part, given whole.
func (e *streamEncoder) closing(open *openPart, whole *genwayv1.Part) error {
	part := answerable(whole, open.at, e.losses)
	if part == nil {
		return nil
	}
	e.part = open
	err := e.closePart(part)
	e.part = nil
	if err != nil {
		return err
	}
	e.item.cut = e.item.cut || open.cut
	if open.fresh {
		e.item.parts[0], e.item.summary = part, open.asSummary
	} else {
		e.item.parts, e.item.at = append(e.item.parts, part), append(e.item.at, open.at)
	}
	if part.ThoughtSignature != nil && !open.signed {
		return e.newItem(carrier(sealedLate, part.ThoughtSignature), open.at)
	}
	return nil
}

func (e *streamEncoder) closePart(part *genwayv1.Part) error {
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Text:
		return e.closeText(part, k.Text)
	case *genwayv1.Part_Refusal:
		e.beginAt(eventRefusalDone)
		e.w.Str("refusal", k.Refusal.Text)
		e.send(eventRefusalDone)
		e.saidDone(part)
	case *genwayv1.Part_Thinking:
		return e.closeThinking(part, k.Thinking)
	case *genwayv1.Part_ToolCall:
		if !e.part.cut {
			e.closeCall(k.ToolCall)
		}
	case *genwayv1.Part_Opaque:
		if !isContent(part) {
			return e.beginItem(part)
		}
		if err := e.beginSaid(); err != nil {
			return err
		}
		e.contentPart(eventPartDone, k.Opaque.Json)
	default:
		return e.beginItem(part)
	}
	return nil
}

// closeText writes the annotations, the text and the end of the part. A text that was not
// streamed (the transcript of audio) is written as one piece first.
func (e *streamEncoder) closeText(part *genwayv1.Part, t *genwayv1.Text) error {
	if e.part.part.GetText() == nil {
		e.part.part = textPart(part.Id, "")
		if err := e.textPiece(t.Text, nil); err != nil {
			return err
		}
	}
	if err := e.beginSaid(); err != nil {
		return err
	}
	index := 0
	for _, c := range t.Citations {
		var own member.Writer
		if !encodeAnnotation(&own, c, t.Text) {
			continue
		}
		e.beginAt(eventAnnotation)
		e.w.Int("annotation_index", int64(index))
		e.w.Raw("annotation", own.Text())
		e.send(eventAnnotation)
		index++
	}
	e.beginAt(eventTextDone)
	e.w.Str("text", t.Text)
	encodeLogprobs(e.w, "logprobs", t.Logprobs)
	e.send(eventTextDone)
	e.saidDone(part)
	return nil
}

func (e *streamEncoder) saidDone(part *genwayv1.Part) {
	e.beginAt(eventPartDone)
	e.w.Key("part")
	encodeSaid(e.w, part, partPath(e.part.at), e.losses, true)
	e.send(eventPartDone)
}

func (e *streamEncoder) closeThinking(part *genwayv1.Part, t *genwayv1.Thinking) error {
	if err := e.beginItem(part); err != nil {
		return err
	}
	e.closeSummary()
	if !e.part.thinking {
		return nil
	}
	e.beginAt(eventThinkingDone)
	e.w.Str("text", t.Text)
	e.send(eventThinkingDone)
	e.beginAt(eventPartDone)
	e.w.Key("part")
	encodeLine(e.w, typeReasoningText, t.Text)
	e.send(eventPartDone)
	return nil
}

// closeCall writes the arguments; a call without any has {} (case T10).
func (e *streamEncoder) closeCall(call *genwayv1.ToolCall) {
	if codec.IsCustom(call) {
		e.beginItemEvent(eventInputDone)
		e.w.Str("input", call.GetInput())
		e.send(eventInputDone)
		return
	}
	if !e.part.sent {
		e.callPiece(eventArgsDelta, arguments(call))
	}
	e.beginItemEvent(eventArgsDone)
	e.w.Str("arguments", arguments(call))
	e.send(eventArgsDone)
}
