package chat

import (
	"math"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// presence tells a member that is not there from one that is null.
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

// str demands a string or null.
func (t text) str(path string) (string, error) {
	if t.is == isOther {
		return "", wrongType(path, "string", t.raw.Kind())
	}
	return t.s, nil
}

// spelled gives the string, or the JSON text of anything else.
func (t text) spelled() string {
	if t.is == isOther {
		return utf8Text(t.raw)
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
