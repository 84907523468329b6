package chat

import (
	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// presence distinguishes an absent member from one that is null.
type presence uint8

const (
	absent presence = iota
	isNull
	isText
	isParts
	isOther
)

// text is a member that should be a string. Engines also write null and, for
// arguments, the object itself.
type text struct { //nolint:recvcheck // decoding sets the value, all else takes a copy of it
	is  presence
	s   string
	raw jsontext.Value
}

func textOf(s string) text { return text{is: isText, s: s} }

// json is a string, or anything else but null, as JSON.
func (t text) json() jsontext.Value {
	if t.is == isText {
		return member.AppendQuote(nil, t.s)
	}
	out, _ := member.AppendCompact(nil, t.raw)
	return out
}

func (t text) IsZero() bool { return t.is == absent }

func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case 'n':
		t.is = isNull
		return d.SkipValue()
	case '"':
		t.is = isText
		return json.UnmarshalDecode(d, &t.s)
	}
	t.is = isOther
	raw, err := d.ReadValue()
	t.raw = raw.Clone()
	return err
}

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

// writeOrNull writes null for what is absent.
func (t *text) writeOrNull(w *member.Writer, name string) {
	switch t.is {
	case isText:
		w.Str(name, t.s)
	case isOther:
		w.Compact(name, t.raw)
	case absent, isNull, isParts:
		w.Null(name)
	}
}

// writeOpt leaves out what is absent.
func (t *text) writeOpt(w *member.Writer, name string) {
	if t.is != absent {
		t.writeOrNull(w, name)
	}
}

// str demands a string or null.
func (t text) str(path string) (string, error) {
	if t.is == isOther {
		return "", wrongType(path, "string", t.raw.Kind())
	}
	return t.s, nil
}

// spelled returns the string, or the JSON text of anything else.
func (t text) spelled() string {
	if t.is == isOther {
		return member.Text(t.raw)
	}
	return t.s
}

// content is a string, an array of parts, or null.
type content struct {
	is    presence
	s     string
	parts []part
}

func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch k := d.PeekKind(); k {
	case 'n':
		c.is = isNull
		return d.SkipValue()
	case '"':
		c.is = isText
		return json.UnmarshalDecode(d, &c.s)
	case '[':
		c.is = isParts
		return json.UnmarshalDecode(d, &c.parts)
	default:
		return wrongTypeHere(d, "string or array", k)
	}
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
		return member.ReadList(r, &c.parts, (*part).ReadJSON)
	}
	return false
}

// writeOpt leaves out what is absent.
func (c *content) writeOpt(w *member.Writer, name string) {
	switch c.is {
	case absent:
	case isText:
		w.Str(name, c.s)
	case isParts:
		member.WriteList(w, name, c.parts, (*part).write)
	case isNull, isOther:
		w.Null(name)
	}
}
