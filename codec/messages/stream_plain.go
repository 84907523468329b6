package messages

import "github.com/genway/genway/codec/member"

// plain reads an event without reflection, as the decoder would: streams are hundreds
// of them in a row. last is the event before it, whose strings are mostly the same.
// False leaves the event to the decoder.
func (e *streamEvent) plain(data []byte, last *streamEvent) bool {
	w := member.Over(data)
	return w.Members(func(name []byte) bool { return e.member(&w, name, last) }) && w.Done()
}

func (e *streamEvent) member(w *member.Walk, name []byte, last *streamEvent) bool {
	if string(name) == "delta" {
		return w.Null() || w.Members(func(name []byte) bool {
			v, ok := w.Value()
			return ok && e.Delta.take(name, v, &last.Delta)
		})
	}
	v, ok := w.Value()
	if !ok {
		return false
	}
	switch string(name) {
	case "type":
		return v.Like(&e.Type, last.Type)
	case "index":
		n, ok := v.Int(0)
		e.Index = int(n)
		return ok || v.IsNull()
	case "message":
		return v.Keep(&e.Message)
	case "content_block":
		return v.Keep(&e.ContentBlock)
	case "usage":
		if v.IsNull() {
			return true
		}
		e.Usage = &wireUsage{}
		return v.Members(e.Usage.take)
	case "context_management":
		return v.Keep(&e.ContextManagement)
	}
	return v.Extra(&e.Extra, name)
}

// take reads one member.
func (d *streamDelta) take(name []byte, v member.Raw, last *streamDelta) bool {
	switch string(name) {
	case "type":
		return v.Like(&d.Type, last.Type)
	case "text":
		return v.Text(&d.Text)
	case "thinking":
		return v.Text(&d.Thinking)
	case "signature":
		return v.Text(&d.Signature)
	case "partial_json":
		return v.Text(&d.PartialJSON)
	case "citation":
		return v.Keep(&d.Citation)
	case "stop_reason":
		return v.Text(&d.StopReason)
	case "stop_sequence":
		if v.IsNull() {
			return true
		}
		d.StopSequence = new(string)
		return v.Text(d.StopSequence)
	case "stop_details":
		return v.Keep(&d.StopDetails)
	}
	return v.Extra(&d.Extra, name)
}
