package responses

import (
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
	d.wholeContent(ev.ContentIndex, whole)
	return nil
}

func (d *streamDecoder) wholeContent(index int, whole *genwayv1.Part) {
	it := d.item
	switch {
	case it.open && it.content == index:
		d.rest(whole)
		it.open = false
	case blank(whole):
	case whole.GetText() != nil:
		d.content(index, emptyText)
		d.rest(whole)
	case whole.GetRefusal() != nil:
		d.content(index, emptyRefusal)
		d.rest(whole)
	default:
		d.content(index, func() *genwayv1.Part { return whole })
	}
	it.open = false
	it.over = index + 1
}

// closeItem ends an item with what its last event has of it as a whole.
func (d *streamDecoder) closeItem(ev *wireEvent) error {
	it := d.item
	d.item = nil
	if d.finished == nil {
		d.finished = map[int]bool{}
	}
	d.finished[it.index] = true
	if ev.Item == nil {
		return nil
	}
	whole, err := decodeItem(ev.Item, member.Place{Path: "item"})
	if err != nil {
		return err
	}
	for _, p := range whole.parts {
		p.NativeFields = withoutStatus(p.NativeFields)
	}
	d.item = it
	d.wholeItem(it, whole)
	d.item = nil
	return nil
}

func (d *streamDecoder) wholeItem(it *streamedItem, whole item) {
	switch {
	case whole.thought != nil:
		switch {
		case !whole.late:
			d.thought = whole.thought
		case d.part != nil:
			d.Add(codec.ThoughtSignatureDelta(whole.thought))
		}
	case it.kind == typeMessage || it.kind == "" && len(whole.parts) > 0 && isContent(whole.parts[0]):
		for i, p := range whole.parts {
			if i == 0 && (it.over > 0 || it.open) {
				d.late(it, p)
			}
			switch {
			case !isContent(p):
				d.wholePart(p)
			case i >= it.over:
				d.wholeContent(i, p)
			}
		}
	default:
		for _, p := range whole.parts {
			if it.open {
				d.rest(p)
			} else if !blank(p) {
				d.wholePart(p)
			}
		}
	}
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
func (d *streamDecoder) wholePart(p *genwayv1.Part) {
	opening := &genwayv1.Part{Id: p.Id, NativeFields: p.NativeFields, Kind: p.Kind}
	switch {
	case p.GetThinking() != nil:
		opening.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{}}
	case p.GetText() != nil:
		opening.Kind = &genwayv1.Part_Text{Text: &genwayv1.Text{}}
	}
	d.begin(opening)
	d.rest(p)
	if p.ThoughtSignature != nil {
		d.Add(codec.ThoughtSignatureDelta(p.ThoughtSignature))
	}
}
