package chat

import (
	"math"
	"strconv"

	"github.com/genway/genway/codec/member"
)

// The methods here are UnmarshalJSONFrom again for member.Reader, which reads what is
// plain and leaves the rest to those.

// ReadJSON implements member.ValueReader.
func (t *text) ReadJSON(r *member.Reader) bool {
	switch r.Kind() {
	case 'n':
		t.is = isNull
		return r.Null()
	case '"':
		t.is = isText
		return r.Text(&t.s)
	}
	t.is = isOther
	return r.Keep(&t.raw)
}

// ReadJSON implements member.ValueReader.
func (c *content) ReadJSON(r *member.Reader) bool {
	switch r.Kind() {
	case 'n':
		c.is = isNull
		return r.Null()
	case '"':
		c.is = isText
		return r.Text(&c.s)
	case '[':
		c.is = isParts
		return r.Read(&c.parts)
	}
	return false
}

// messageList has elements of half a kilobyte each, so that decoders take turns with
// the memory. Nothing canonical may be a part of one.
type messageList []message

var spareMessages member.Spare[message]

// ReadJSON implements member.ValueReader.
func (l *messageList) ReadJSON(r *member.Reader) bool {
	if r.Kind() == '[' {
		*l = spareMessages.Take()
	}
	return r.Read((*[]message)(l))
}

// ReadJSON implements member.ValueReader.
func (s *stopList) ReadJSON(r *member.Reader) bool {
	if r.Kind() == '"' {
		*s = make(stopList, 1)
		return r.Text(&(*s)[0])
	}
	return r.Read((*[]string)(s))
}

// ReadJSON implements member.ValueReader.
func (s *seconds) ReadJSON(r *member.Reader) bool {
	if r.Null() {
		return true
	}
	n, ok := r.Number()
	if !ok {
		return false
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err == nil {
		*s = seconds(i)
		return true
	}
	f, err := strconv.ParseFloat(string(n), 64)
	*s = seconds(f)
	return err == nil && math.Abs(f) <= 1e15
}

// ReadJSON implements member.ValueReader.
func (o *octets) ReadJSON(r *member.Reader) bool {
	var list []uint8Number
	if !r.Read(&list) {
		return false
	}
	if list != nil {
		*o = make(octets, len(list))
	}
	for i, n := range list {
		(*o)[i] = byte(n)
	}
	return true
}

// read reads into plain, the same value without its methods.
func (v *verbatim) read(r *member.Reader, plain any) bool {
	v.start = r.Before()
	ok := r.Read(plain)
	v.end = r.Offset()
	return ok
}

// ReadJSON implements member.ValueReader.
func (p *part) ReadJSON(r *member.Reader) bool {
	type plain part
	return p.verbatim.read(r, (*plain)(p))
}

// ReadJSON implements member.ValueReader.
func (c *toolCall) ReadJSON(r *member.Reader) bool {
	type plain toolCall
	return c.verbatim.read(r, (*plain)(c))
}

// ReadJSON implements member.ValueReader.
func (r *detail) ReadJSON(from *member.Reader) bool {
	type plain detail
	return r.verbatim.read(from, (*plain)(r))
}

// ReadJSON implements member.ValueReader.
func (a *annotation) ReadJSON(r *member.Reader) bool {
	type plain annotation
	return a.verbatim.read(r, (*plain)(a))
}

// ReadJSON implements member.ValueReader.
func (t *tool) ReadJSON(r *member.Reader) bool {
	type plain tool
	return t.verbatim.read(r, (*plain)(t))
}

// ReadJSON implements member.ValueReader.
func (f *responseFormat) ReadJSON(r *member.Reader) bool {
	type plain responseFormat
	return f.verbatim.read(r, (*plain)(f))
}

// ReadJSON implements member.ValueReader.
func (l *link) ReadJSON(r *member.Reader) bool {
	if r.Kind() == '"' {
		return r.Text(&l.URL)
	}
	type plain link
	return r.Read((*plain)(l))
}
