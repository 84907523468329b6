package chat

import (
	"math"
	"strconv"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// given reports whether a raw member is there and not null.
func given(raw jsontext.Value) bool { return len(raw) > 0 && raw.Kind() != 'n' }

// spelled returns one value as JSON; nil when it cannot be written.
func spelled(v interface{ write(w *member.Writer) }) jsontext.Value {
	w := member.NewWriter(128)
	v.write(w)
	out, _ := w.Finish()
	return out
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
	return member.ReadList(r, (*[]message)(l), (*message).ReadJSON)
}

// stopList is one stop sequence or several.
type stopList []string

func (s *stopList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch k := d.PeekKind(); k {
	case 'n':
		return d.SkipValue()
	case '"':
		*s = make(stopList, 1)
		return json.UnmarshalDecode(d, &(*s)[0])
	case '[':
		return json.UnmarshalDecode(d, (*[]string)(s))
	default:
		return wrongTypeHere(d, "string or array", k)
	}
}

// ReadJSON implements member.ValueReader.
func (s *stopList) ReadJSON(r *member.Reader) bool {
	if r.Kind() == '"' {
		*s = make(stopList, 1)
		return r.Text(&(*s)[0])
	}
	return r.Strings((*[]string)(s))
}

// seconds is a Unix time. Some engines give it a fraction.
type seconds int64 //nolint:recvcheck // decoding sets the value, all else takes a copy of it

func (s *seconds) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '0' {
		return json.UnmarshalDecode(d, (*int64)(s))
	}
	var f float64
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	if json.Unmarshal(raw, (*int64)(s)) == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &f); err != nil || math.Abs(f) > 1e15 {
		return wrongTypeHere(d, "integer", '0')
	}
	*s = seconds(f)
	return nil
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

// octets is the UTF-8 of a token as an array of integers.
type octets []byte

func (o *octets) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var list []uint8Number
	if err := json.UnmarshalDecode(d, &list); err != nil {
		return err
	}
	*o = nil
	if list != nil {
		*o = make(octets, len(list))
	}
	for i, n := range list {
		(*o)[i] = byte(n)
	}
	return nil
}

// ReadJSON implements member.ValueReader.
func (o *octets) ReadJSON(r *member.Reader) bool {
	return member.ReadList(r, (*[]byte)(o), func(b *byte, r *member.Reader) bool { return r.Uint8(b) })
}

func (t *tokenLogprob) writeBytes(w *member.Writer, name string) {
	if t.Bytes == nil {
		w.Null(name)
		return
	}
	w.List(name)
	for _, b := range t.Bytes {
		w.Element(int64(b))
	}
	w.EndList()
}

// uint8Number keeps a list of small numbers from being read as base64.
type uint8Number uint8

func wrongTypeHere(d *jsontext.Decoder, want string, got jsontext.Kind) error {
	return wrongType(member.Path(string(d.StackPointer())), want, got)
}

func wrongType(path, want string, got jsontext.Kind) error {
	return fault.Invalid(path, "%s: expected %s, got %s", path, want, kindWord(got))
}

func kindWord(k jsontext.Kind) string {
	switch k {
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	}
	return k.String()
}

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
