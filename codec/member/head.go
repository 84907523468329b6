package member

import (
	"bytes"

	"github.com/go-json-experiment/json"
)

// HeadReader reads the light members of a body, one after the other. Generated code uses it:
//
//	h, r := x.Light(heavy)
//	var o member.Object
//	for h.Next(r, &o) && v.readMember(r, &o) {
//	}
//	body, again, ok := h.Done(r, &o)
type HeadReader struct {
	index *TopIndex
	heavy []string
	// next is the number of the next member.
	next int
	// found says that the first of the heavy members is there and not empty, long that a
	// light one is too long for a head.
	found, long, whole bool
}

// maxLight bounds a member that is not heavy.
const maxLight = 4 << 10

// Light begins to read all members of a body but for the heavy ones, of which the first makes
// the body what it is: without it, or without anything in it, there is no head.
func (o *TopIndex) Light(heavy []string) (HeadReader, *Reader) {
	r := newReader(o.body)
	r.depth = 1
	return HeadReader{index: o, heavy: heavy}, r
}

// Next goes to the value of the next light member; false when there is none.
func (h *HeadReader) Next(r *Reader, to *Object) bool {
	for h.next < h.index.n {
		e := h.index.at(h.next)
		h.next++
		name := h.index.body[e.name.from:e.name.to]
		if i := heavyIndex(h.heavy, name); i >= 0 {
			h.found = h.found || i == 0 && h.index.holds(e)
			continue
		}
		if h.long = e.value.to-e.value.from > maxLight; h.long {
			return false
		}
		r.i, r.before = e.value.from, e.name.to+1
		to.name, to.Name = e.name, name
		return true
	}
	h.whole = true
	return false
}

func heavyIndex(names []string, name []byte) int {
	for i, known := range names {
		if known == string(name) {
			return i
		}
	}
	return -1
}

// Done returns the body that was read and reports whether it has a head. Where a light member is
// not one that a Reader takes, the body is one with null for each heavy member, and again says
// that the JSON library is to read it (DecodeLight).
func (h *HeadReader) Done(r *Reader, of *Object) (body []byte, again, ok bool) {
	if h.whole && of.opened {
		r.names.close(of.others)
	}
	r.release(h.whole)
	switch {
	case h.whole:
		return h.index.body, false, h.found
	case h.long:
		return nil, false, false
	}
	body, ok = h.index.Lightened(h.heavy)
	return body, ok, ok
}

// LightHas reports whether a byte is in the name or the value of a light member.
func (o *TopIndex) LightHas(c byte, heavy []string) bool {
	for k := range o.n {
		e := o.at(k)
		name := o.body[e.name.from:e.name.to]
		if heavyIndex(heavy, name) >= 0 {
			continue
		}
		if bytes.IndexByte(name, c) >= 0 || bytes.IndexByte(o.body[e.value.from:e.value.to], c) >= 0 {
			return true
		}
	}
	return false
}

// DecodeLight reads the body that Done gives with again into a zero struct.
func DecodeLight(body []byte, v any) bool { return json.Unmarshal(body, v, decodeOptions) == nil }

// Lightened returns the body with null for each heavy member.
func (o *TopIndex) Lightened(heavy []string) ([]byte, bool) {
	light, copied, found := make([]byte, 0, 512), o.start, false
	for k := range o.n {
		e := o.at(k)
		i := heavyIndex(heavy, o.body[e.name.from:e.name.to])
		if i < 0 {
			if e.value.to-e.value.from > maxLight {
				return nil, false
			}
			continue
		}
		found = found || i == 0 && o.holds(e)
		light = append(append(light, o.body[copied:e.value.from]...), "null"...)
		copied = e.value.to
	}
	return append(light, o.body[copied:o.end]...), found
}
