package responses

import (
	"bytes"

	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
)

// plain reads an event without reflection, as the decoder would: streams are hundreds
// of them in a row. last is the event before it, whose strings are mostly the same.
// Deltas stand in data; an event that is to be kept is to be cloned. False leaves the
// event to the decoder.
func (e *wireEvent) plain(data []byte, last *wireEvent) bool {
	w := member.Over(data)
	return w.Members(func(name []byte) bool {
		v, ok := w.Value()
		return ok && e.take(name, v, last)
	}) && w.Done()
}

// take reads one member.
func (e *wireEvent) take(name []byte, v member.Raw, last *wireEvent) bool {
	switch string(name) {
	case "type":
		return v.Like(&e.Type, last.Type)
	case "item_id":
		return v.Like(&e.ItemID, last.ItemID)
	case "output_index":
		return takeInt(v, &e.OutputIndex)
	case "content_index":
		return takeInt(v, &e.ContentIndex)
	case "summary_index":
		return takeInt(v, &e.SummaryIndex)
	case "delta":
		e.Delta = jsontext.Value(v)
	case "logprobs":
		return string(v) == "[]" || v.IsNull() || member.Take(v, &e.Logprobs)
	case "annotation":
		return v.Keep(&e.Annotation)
	case "part":
		return v.Keep(&e.Part)
	case "item":
		return v.Keep(&e.Item)
	case "response":
		return v.Keep(&e.Response)
	case "error":
		return v.Keep(&e.Error)
	}
	return true
}

func takeInt(v member.Raw, to *int) bool {
	n, ok := v.Int(0)
	*to = int(n)
	return ok || v.IsNull()
}

// clone is an event that outlives the next.
func (e *wireEvent) clone() *wireEvent {
	c := *e
	c.Delta = bytes.Clone(e.Delta)
	return &c
}
