package responses

import (
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// openPart is the canonical part that is being sent to the caller.
type openPart struct {
	part *genwayv1.Part
	at   int
	// begun is set once its first event is out; fresh when that opened the item.
	begun, fresh bool
	// signed is set once its signature is out.
	signed bool
	// content is the place in the item.
	content int
	// sent is set once a piece is out.
	sent bool
	// summary gathers the one that is open, the last of summaries begun.
	summary     strings.Builder
	summaryOpen bool
	summaries   int
	// asSummary is set once the text of reasoning is written as its first summary.
	asSummary bool
	// thinking is set once the text of reasoning is open.
	thinking bool
	// cut is set for a call in which the answer was cut.
	cut bool
}

// opening writes what is known when a part begins. Text waits for its first piece
// (case T2), whole parts for their end.
func (e *streamEncoder) opening() error {
	part := e.part.part
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Text:
		return e.piece(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: k.Text.GetText()}, Logprobs: k.Text.GetLogprobs()})
	case *genwayv1.Part_Refusal:
		return e.piece(codec.RefusalDelta(k.Refusal.GetText()))
	case *genwayv1.Part_Thinking:
		if part.Id != "" {
			if err := e.beginItem(part); err != nil {
				return err
			}
		}
		for i, s := range k.Thinking.GetSummary() {
			delta := &genwayv1.SummaryDelta{Index: int32(i), Text: s}
			if err := e.piece(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Summary{Summary: delta}}); err != nil {
				return err
			}
		}
		return e.piece(codec.ThinkingDelta(k.Thinking.GetText()))
	case *genwayv1.Part_ToolCall:
		if err := e.beginItem(part); err != nil {
			return err
		}
		if k.ToolCall.GetInput() != "" {
			return e.piece(codec.InputDelta(k.ToolCall.GetInput()))
		}
		return e.piece(codec.ArgumentsDelta(k.ToolCall.GetArgumentsJson()))
	}
	return nil
}

// beginItem ends the item before and opens one for the part.
func (e *streamEncoder) beginItem(part *genwayv1.Part) error {
	if e.part.begun {
		return nil
	}
	e.part.begun, e.part.fresh = true, true
	if part.ThoughtSignature != nil && !isContent(part) {
		e.part.signed = true
		if err := e.newItem(carrier(sealedThought, part.ThoughtSignature), e.part.at); err != nil {
			return err
		}
	}
	return e.newItem(part, e.part.at)
}

func (e *streamEncoder) newItem(part *genwayv1.Part, at int) error {
	if err := e.closeItem(statusCompleted); err != nil {
		return err
	}
	e.item = &outputItem{parts: []*genwayv1.Part{part}, at: []int{at}, index: e.count, response: e.head.id, created: e.head.created, losses: e.losses, spaces: e.spaces}
	e.count++
	e.begin(eventItemAdded)
	e.w.Int("output_index", int64(e.item.index))
	e.w.Key("item")
	if err := e.item.open(e.w); err != nil {
		return err
	}
	e.send(eventItemAdded)
	return nil
}

// closeItem ends the item that is open and keeps it for the output.
func (e *streamEncoder) closeItem(status string) error {
	if e.item == nil {
		return nil
	}
	if e.item.cut {
		status = statusIncomplete
	}
	from := len(e.items.Text())
	if err := e.item.encode(e.items, status); err != nil {
		return err
	}
	if from > 0 {
		from++ // the comma
	}
	e.begin(eventItemDone)
	e.w.Int("output_index", int64(e.item.index))
	e.w.Raw("item", e.items.Text()[from:])
	e.send(eventItemDone)
	e.item = nil
	return nil
}

// beginSaid opens a content part of a message, in the open message if it joins.
func (e *streamEncoder) beginSaid() error {
	if e.part.begun {
		return nil
	}
	part := e.part.part
	if e.item != nil && joins(e.item.parts[len(e.item.parts)-1], part) {
		e.part.begun, e.part.content = true, len(e.item.parts)
	} else if err := e.beginItem(part); err != nil {
		return err
	}
	if o := part.GetOpaque(); o != nil {
		e.contentPart(eventPartAdded, o.Json)
		return nil
	}
	empty := `{"type":"output_text","annotations":[],"logprobs":[],"text":""}`
	if part.GetRefusal() != nil {
		empty = `{"type":"refusal","refusal":""}`
	}
	e.contentPart(eventPartAdded, []byte(empty))
	return nil
}

func (e *streamEncoder) contentPart(event string, json []byte) {
	e.beginAt(event)
	e.w.Raw("part", json)
	e.send(event)
}

// beginItemEvent starts a frame about the open item.
func (e *streamEncoder) beginItemEvent(event string) {
	e.begin(event)
	e.w.Str("item_id", e.item.id())
	e.w.Int("output_index", int64(e.item.index))
}

// beginAt starts a frame about the open content part.
func (e *streamEncoder) beginAt(event string) {
	e.beginItemEvent(event)
	e.w.Int("content_index", int64(e.part.content))
}

// piece writes a delta. Empty pieces are left out.
func (e *streamEncoder) piece(d *genwayv1.PartDelta) error {
	switch v := d.GetDelta().(type) {
	case *genwayv1.PartDelta_Text:
		return e.textPiece(v.Text, d.Logprobs)
	case nil:
		return e.textPiece("", d.Logprobs)
	case *genwayv1.PartDelta_Refusal:
		if v.Refusal == "" {
			return nil
		}
		if err := e.beginSaid(); err != nil {
			return err
		}
		e.beginAt(eventRefusalDelta)
		e.w.Str("delta", v.Refusal)
		e.send(eventRefusalDelta)
	case *genwayv1.PartDelta_Thinking:
		return e.thinkingPiece(v.Thinking)
	case *genwayv1.PartDelta_Summary:
		index := int(v.Summary.GetIndex())
		if e.part.asSummary {
			index++
		}
		return e.summaryPiece(index, v.Summary.GetText())
	case *genwayv1.PartDelta_ArgumentsJson:
		e.callPiece(eventArgsDelta, v.ArgumentsJson)
	case *genwayv1.PartDelta_Input:
		e.callPiece(eventInputDelta, v.Input)
	}
	return nil
}

func (e *streamEncoder) textPiece(text string, logprobs []*genwayv1.TokenLogprob) error {
	if text == "" && len(logprobs) == 0 || e.part.part.GetText() == nil {
		return nil
	}
	if err := e.beginSaid(); err != nil {
		return err
	}
	e.beginAt(eventTextDelta)
	e.w.Str("delta", text)
	encodeLogprobs(e.w, "logprobs", logprobs)
	e.send(eventTextDelta)
	return nil
}

func (e *streamEncoder) callPiece(event, text string) {
	if text == "" {
		return
	}
	e.part.sent = true
	e.beginItemEvent(event)
	e.w.Str("delta", text)
	e.send(event)
}

// partStarted opens a part, and the item it is in unless that is open already.
func (e *streamEncoder) partStarted(p *genwayv1.PartStarted) error {
	e.start(&genwayv1.TextStarted{})
	if err := e.closeLate(false); err != nil {
		return err
	}
	part := p.GetPart()
	if part == nil {
		part = &genwayv1.Part{}
	}
	started := &genwayv1.PartStarted{Candidate: p.Candidate, Index: p.Index, Part: proto.CloneOf(part)}
	if err := e.folder.Add(codec.Event(started)); err != nil {
		return err
	}
	e.part = &openPart{part: part, at: int(p.Index)}
	return e.opening()
}

func (e *streamEncoder) partDelta(ev *genwayv1.StreamGenerateTextResponse) error {
	if err := e.folder.Add(ev); err != nil {
		return err
	}
	return e.piece(ev.GetPartDelta())
}

// partCompleted closes a part with all that was gathered of it.
func (e *streamEncoder) partCompleted(ev *genwayv1.StreamGenerateTextResponse) error {
	if err := e.folder.Add(ev); err != nil {
		return err
	}
	parts := e.folder.Response().Candidates[0].Parts
	whole := parts[len(parts)-1]
	open := e.part
	e.part = nil
	e.refused = e.refused || whole.GetRefusal() != nil
	if unfinishedCall(whole) {
		e.late, e.lateCall = open, whole
		return nil
	}
	return e.closing(open, whole)
}

// closeLate closes a call whose arguments have not come, or not to their end. Whether the answer was cut there is
// known by the event behind it.
func (e *streamEncoder) closeLate(cut bool) error {
	open, whole := e.late, e.lateCall
	if open == nil {
		return nil
	}
	e.late, e.lateCall = nil, nil
	open.cut = cut
	return e.closing(open, whole)
}
