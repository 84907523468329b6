package responses

import (
	"hash/maphash"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// contentDone finishes a part of a message.
func (d *streamDecoder) contentDone(ev *wireEvent) error {
	it := d.item
	if it.kind != typeMessage || ev.ContentIndex < it.over {
		return nil
	}
	whole, err := decodeSaid(ev.Part, member.Place{Path: "part"}, it.id)
	if err != nil {
		return err
	}
	return d.wholeContent(ev.ContentIndex, whole)
}

func (d *streamDecoder) wholeContent(index int, whole *genwayv1.Part) error {
	it := d.item
	var err error
	switch {
	case it.open && it.content == index:
		err = d.rest(whole)
	case blank(whole):
	case whole.GetText() != nil:
		d.content(index, emptyText)
		err = d.rest(whole)
	case whole.GetRefusal() != nil:
		d.content(index, emptyRefusal)
		err = d.rest(whole)
	default:
		d.content(index, func() *genwayv1.Part { return whole })
	}
	it.open = false
	it.over = index + 1
	return err
}

// closeItem ends an item with what its last event has of it as a whole.
func (d *streamDecoder) closeItem(ev *wireEvent) error {
	it := d.item
	d.item = nil
	if d.finished == nil {
		d.finished = map[int]finishedItem{}
	}
	done := finishedItem{kind: it.kind, id: it.id}
	defer func() { d.finished[it.index] = done }()
	if ev.Item == nil {
		return nil
	}
	done.whole = maphash.Bytes(wholes, ev.Item)
	whole, err := decodeItem(ev.Item, member.Place{Path: "item"})
	if err != nil {
		return err
	}
	for _, p := range whole.parts {
		p.NativeFields = withoutStatus(p.NativeFields)
	}
	d.item = it
	defer func() { d.item = nil }()
	return d.wholeItem(it, whole)
}

func (d *streamDecoder) wholeItem(it *streamedItem, whole item) error {
	switch {
	case whole.thought != nil:
		switch {
		case !whole.late:
			d.thought = whole.thought
		case d.part != nil:
			d.Add(codec.ThoughtSignatureDelta(whole.thought))
		}
	case it.kind == typeMessage || it.kind == "" && len(whole.parts) > 0 && isContent(whole.parts[0]):
		over := it.over
		for i, p := range whole.parts {
			if i == 0 && (it.over > 0 || it.open) {
				d.late(it, p)
			}
			if i < over && isContent(p) {
				continue
			}
			if err := d.wholeOfMessage(i, p); err != nil {
				return err
			}
		}
		// What is left of parts that were over stands behind the others.
		for i, p := range whole.parts[:min(over, len(whole.parts))] {
			if !isContent(p) {
				continue
			}
			if err := d.againPart(i, p); err != nil {
				return err
			}
		}
	default:
		for _, p := range whole.parts {
			var err error
			if it.open {
				err = d.rest(p)
			} else if !blank(p) {
				err = d.wholePart(p)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// wholeOfMessage takes a part of a message that has ended.
func (d *streamDecoder) wholeOfMessage(i int, p *genwayv1.Part) error {
	if !isContent(p) {
		return d.wholePart(p)
	}
	return d.wholeContent(i, p)
}

// againPart takes a part of the item that was over before.
func (d *streamDecoder) againPart(i int, p *genwayv1.Part) error {
	for _, begun := range d.parts {
		if begun.item == d.item.index && begun.content == i {
			return d.compare(begun, p)
		}
	}
	if blank(p) {
		return nil
	}
	return d.wholePart(p)
}

// late emits the members of a message that were not there when it began.
func (d *streamDecoder) late(it *streamedItem, first *genwayv1.Part) {
	for _, f := range first.NativeFields {
		if strings.HasPrefix(f.Name, ofMessage) && !member.HasNative(it.known, f.Name) {
			d.Add(codec.NativeDelta(f))
		}
	}
}

// wholePart emits a part that did not stream.
func (d *streamDecoder) wholePart(p *genwayv1.Part) error {
	opening := &genwayv1.Part{Id: p.Id, NativeFields: p.NativeFields, Kind: p.Kind}
	switch {
	case p.GetThinking() != nil:
		opening.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{}}
	case p.GetText() != nil:
		opening.Kind = &genwayv1.Part_Text{Text: &genwayv1.Text{}}
	case p.GetRefusal() != nil:
		opening.Kind = emptyRefusal().Kind
	case p.GetToolCall() != nil:
		call := &genwayv1.ToolCall{Id: p.GetToolCall().Id, Name: p.GetToolCall().Name}
		if codec.IsCustom(p.GetToolCall()) {
			call.Arguments = &genwayv1.ToolCall_Input{}
		}
		opening.Kind = &genwayv1.Part_ToolCall{ToolCall: call}
	}
	d.begin(opening, d.item.number())
	if err := d.rest(p); err != nil {
		return err
	}
	if p.ThoughtSignature != nil {
		d.Add(codec.ThoughtSignatureDelta(p.ThoughtSignature))
	}
	return nil
}
