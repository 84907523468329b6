package responses

import (
	"hash/maphash"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// The events that end a text have the whole of it, of which the pieces may have been less.

func refusalPart(id, text string) *genwayv1.Part {
	return &genwayv1.Part{Id: id, Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: text}}}
}

// textDone takes the whole of a text or a refusal. Its part is not over: what else it has comes
// behind.
func (d *streamDecoder) textDone(ev *wireEvent, raw jsontext.Value, part func(id, text string) *genwayv1.Part) {
	it := d.item
	open := it.open && it.content == ev.ContentIndex
	if it.kind != typeMessage || ev.ContentIndex < it.over || open && d.part.text.is(raw) {
		return
	}
	text := unquote(raw)
	if text == "" {
		return
	}
	whole := part(it.id, text)
	if !open && whole.GetText() != nil {
		d.content(ev.ContentIndex, emptyText)
	} else if !open {
		d.content(ev.ContentIndex, emptyRefusal)
	}
	_ = d.rest(whole) // which fails for calls only
}

// thinkingDone takes the whole of a summary, or of the text if it is the only one.
func (d *streamDecoder) thinkingDone(ev *wireEvent) error {
	if d.item.kind != typeReasoning || d.item.thought {
		return nil
	}
	text := unquote(ev.Text)
	if ev.Type == eventSummaryDone {
		var line wireLine
		if err := member.DecodeAt(ev.Part, &line, member.Place{Path: "part"}); err != nil {
			return err
		}
		text = line.Text
	}
	if text == "" || !d.thinking() {
		return nil
	}
	switch {
	case ev.Type != eventThinkingDone && ev.SummaryIndex >= 0 && ev.SummaryIndex < maxSummaries:
		d.restOfSummary(ev.SummaryIndex, text)
	case ev.Type == eventThinkingDone && ev.ContentIndex == 0 && d.item.content <= 0:
		d.thinkingDelta(d.restOf(d.part, &d.part.text, text, ".thinking"))
	}
	return nil
}

// callDone takes the whole of the arguments or the input of a call.
func (d *streamDecoder) callDone(ev *wireEvent) error {
	it := d.item
	switch {
	case !it.open:
	case ev.Type == eventArgsDone && it.kind == typeFunctionCall:
		rest, err := d.part.restOfArguments(unquote(ev.Arguments))
		d.argumentsDelta(rest)
		return err
	case ev.Type == eventInputDone && it.kind == typeCustomCall:
		rest, err := d.part.restOfArguments(unquote(ev.Input))
		d.inputDelta(rest)
		return err
	}
	return nil
}

// finishedItem is what is kept of an item that has ended, by which it is found in the response that
// ends the stream.
type finishedItem struct {
	kind, id string
	// whole is the hash of the item as it was given at its end.
	whole uint64
	// found says that an item of the response at the end is this one.
	found bool
}

// wholes is the seed of the hashes of items.
var wholes = maphash.MakeSeed()

// outputs takes the items of the response that ends the stream: those that have not come before,
// and what is left of the others. The vendor's SDK takes this response and nothing else for the
// answer. An item is known by all that it has, by its identifier, or else by its place and its type.
func (d *streamDecoder) outputs(list []jsontext.Value) error {
	places := make([]int, len(list))
	for i, raw := range list {
		places[i] = d.find(i, func(f finishedItem) bool { return f.whole == maphash.Bytes(wholes, raw) })
		if id := member.Raw(member.Value(raw, "id")).String(); places[i] < 0 && id != "" {
			places[i] = d.find(i, func(f finishedItem) bool { return f.id == id })
		}
	}
	for i, raw := range list {
		if places[i] < 0 {
			kind := member.Raw(member.Value(raw, "type")).String()
			places[i] = d.find(i, func(f finishedItem) bool { return f.kind == kind || f.kind == "" })
		}
	}
	for i, raw := range list {
		var err error
		if places[i] >= 0 {
			err = d.again(places[i], raw)
		} else {
			// Its place may be that of another item.
			err = d.ofItem(&wireEvent{Type: eventItemDone, OutputIndex: -1 - i, Item: raw})
		}
		if err != nil {
			return badAnswer(err)
		}
	}
	return nil
}

// find returns the place of an item that has ended and was not found yet: the given one if it is like
// that, or else the first that is; -1 if none is.
func (d *streamDecoder) find(place int, like func(finishedItem) bool) int {
	at := -1
	for i, f := range d.finished {
		if !f.found && like(f) && (at < 0 || i == place || at != place && i < at) {
			at = i
		}
	}
	if f, ok := d.finished[at]; ok {
		f.found = true
		d.finished[at] = f
	}
	return at
}

// again takes an item that has ended before.
func (d *streamDecoder) again(at int, raw jsontext.Value) error {
	if d.finished[at].whole == maphash.Bytes(wholes, raw) {
		return nil
	}
	whole, err := decodeItem(raw, member.Place{Path: "item"})
	if err != nil || whole.thought != nil {
		return err
	}
	d.item = &streamedItem{index: at, kind: d.finished[at].kind, id: d.finished[at].id, over: len(whole.parts)}
	defer func() { d.item = nil }()
	for i, p := range whole.parts {
		if p.NativeFields = withoutStatus(p.NativeFields); d.finished[at].whole != 0 {
			p.NativeFields = nil // which came with the item
		}
		if err := d.againPart(i, p); err != nil {
			return err
		}
	}
	return nil
}
