package responses

import (
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// streamedItem is the item whose events come in.
type streamedItem struct {
	index int
	kind  string
	id    string
	// natives of a message wait for its first part; known are those it began with.
	natives, known []*genwayv1.NativeField
	// content is the place in the message of the part that is open, or was last.
	content int
	// open says that the decoder's part belongs to this item and is not finished.
	open bool
	// over counts the content parts that are finished.
	over int
	// thought is set when the item only carries a signature.
	thought bool
}

// number is the place of the next part of a message; 0 for another item.
func (it *streamedItem) number() int {
	if it == nil || it.kind != typeMessage {
		return 0
	}
	return it.over
}

// itemEvent handles an event of the item that is open, or opens it.
func (d *streamDecoder) itemEvent(ev *wireEvent) error {
	if d.item == nil {
		if err := d.openItem(ev); err != nil {
			return err
		}
	}
	it := d.item
	switch ev.Type {
	case eventItemDone:
		return d.closeItem(ev)
	case eventPartDone:
		return d.contentDone(ev)
	case eventTextDone:
		d.textDone(ev, ev.Text, textPart)
	case eventRefusalDone:
		d.textDone(ev, ev.Refusal, refusalPart)
	case eventThinkingDone, eventSummaryText, eventSummaryDone:
		return d.thinkingDone(ev)
	case eventArgsDone, eventInputDone:
		return d.callDone(ev)
	case eventTextDelta:
		text := unquote(ev.Delta)
		if it.kind == typeMessage && (text != "" || len(ev.Logprobs) > 0) {
			d.content(ev.ContentIndex, emptyText)
			d.textDelta(text, logprobs(ev.Logprobs))
		}
	case eventRefusalDelta:
		if text := unquote(ev.Delta); it.kind == typeMessage && text != "" {
			d.content(ev.ContentIndex, emptyRefusal)
			d.refusalDelta(text)
		}
	case eventAnnotation:
		if it.kind != typeMessage {
			return nil
		}
		citation, err := decodeAnnotation(ev.Annotation, "annotation")
		if err != nil {
			return err
		}
		d.content(ev.ContentIndex, emptyText)
		if d.part.part.GetText() != nil {
			d.citationDelta(citation)
		}
	default:
		d.pieceOfItem(ev)
	}
	return nil
}

// pieceOfItem handles the deltas of items that are one part.
func (d *streamDecoder) pieceOfItem(ev *wireEvent) {
	text := unquote(ev.Delta)
	if text == "" || d.item.thought {
		return
	}
	switch ev.Type {
	case eventSummaryDelta:
		if d.thinking() && ev.SummaryIndex >= 0 && ev.SummaryIndex < maxSummaries {
			d.summaryDelta(ev.SummaryIndex, text)
		}
	case eventThinkingDelta:
		if d.thinking() {
			d.item.content = max(d.item.content, ev.ContentIndex)
			d.thinkingDelta(text)
		}
	case eventArgsDelta:
		if d.item.kind == typeFunctionCall && d.item.open {
			d.argumentsDelta(text)
		}
	case eventInputDelta:
		if d.item.kind == typeCustomCall && d.item.open {
			d.inputDelta(text)
		}
	}
}

// maxSummaries bounds the summaries that one event can open.
const maxSummaries = 1 << 12

// implied are the items whose opening event an upstream has left out.
var implied = map[string]string{
	eventTextDelta: typeMessage, eventTextDone: typeMessage, eventAnnotation: typeMessage, eventRefusalDelta: typeMessage,
	eventRefusalDone: typeMessage, eventPartDone: typeMessage,
	eventSummaryDelta: typeReasoning, eventSummaryText: typeReasoning, eventSummaryDone: typeReasoning,
	eventThinkingDelta: typeReasoning, eventThinkingDone: typeReasoning,
}

func (d *streamDecoder) openItem(ev *wireEvent) error {
	it := &streamedItem{index: ev.OutputIndex, id: ev.ItemID, kind: implied[ev.Type], content: -1}
	d.item = it
	if ev.Item == nil {
		return nil
	}
	var err error
	if it.kind, err = typeOf(ev.Item, member.Place{Path: "item"}); err != nil {
		return err
	}
	switch it.kind {
	case typeMessage:
		var w wireMessage
		if err := member.DecodeAt(ev.Item, &w, member.Place{Path: "item"}); err != nil {
			return err
		}
		it.id = w.ID
		it.natives = member.NativesUnder(protocol, ofMessage, w.Extra)
		it.known = it.natives
	case typeReasoning:
		var w wireReasoningItem
		if err := member.DecodeAt(ev.Item, &w, member.Place{Path: "item"}); err != nil {
			return err
		}
		it.id = w.ID
		if it.thought = parseSealed(w.EncryptedContent).thought != nil; !it.thought {
			it.natives = member.Natives(protocol, w.Extra, nil)
			if it.id != "" {
				d.thinking()
			}
		}
	case typeFunctionCall, typeCustomCall:
		var w wireCall
		if err := member.DecodeAt(ev.Item, &w, member.Place{Path: "item"}); err != nil {
			return err
		}
		it.id = w.ID
		if w.CallID == "" || w.Name == "" {
			return nil // the item as a whole may have them
		}
		part := w.part()
		if it.kind == typeCustomCall {
			part.GetToolCall().Arguments = &genwayv1.ToolCall_Input{}
		}
		part.Id, part.NativeFields = w.ID, append(part.NativeFields, member.Natives(protocol, w.Extra, nil)...)
		d.begin(part, 0)
		it.open = true
	}
	return nil
}

// thinking opens the part of a reasoning item, if it is one.
func (d *streamDecoder) thinking() bool {
	it := d.item
	if it.kind != typeReasoning {
		return false
	}
	if !it.open {
		d.begin(&genwayv1.Part{Id: it.id, NativeFields: it.natives, Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{}}}, 0)
		it.open = true
	}
	return true
}

func emptyText() *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{}}}
}

func emptyRefusal() *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{}}}
}

// content opens a part of a message at its place, unless it is open.
func (d *streamDecoder) content(index int, empty func() *genwayv1.Part) {
	it := d.item
	if it.open && it.content == index {
		return
	}
	part := empty()
	if it.open {
		it.over = it.content + 1
	}
	part.Id = it.id
	for _, f := range it.natives {
		if !member.HasNative(part.NativeFields, f.Name) {
			part.NativeFields = append(part.NativeFields, f)
		}
	}
	it.natives = nil
	d.begin(part, index)
	it.open, it.content = true, index
}
