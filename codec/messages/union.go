package messages

import (
	"bytes"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// content is a string or an array of blocks; blocks wait undecoded, since only
// their type says what they are.
type content struct {
	text   *string
	blocks []jsontext.Value
}

func (c *content) given() bool { return c != nil && (c.text != nil || c.blocks != nil) }

// UnmarshalJSONFrom reads either form.
func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		return json.UnmarshalDecode(d, &c.text)
	case '[':
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		c.blocks = []jsontext.Value{}
		for d.PeekKind() != ']' {
			v, err := d.ReadValue()
			if err != nil {
				return err
			}
			c.blocks = append(c.blocks, bytes.Clone(v))
		}
		_, err := d.ReadToken()
		return err
	case '{', '0', 't', 'f':
		if err := d.SkipValue(); err != nil {
			return err
		}
		path := member.Path(string(d.StackPointer()))
		return fault.Invalid(path, "%s: expected string or array of blocks", path)
	}
	_, err := d.ReadToken()
	return err
}

// ReadJSON implements member.ValueReader.
func (c *content) ReadJSON(r *member.Reader) bool {
	switch r.Kind() {
	case '"':
		return r.Text(member.New(r, &c.text))
	case '[':
		return r.Raws(&c.blocks)
	}
	return r.Null()
}

// decodeAt reads the value at a place of a request into v, a pointer to a struct.
func decodeAt(raw jsontext.Value, v any, place member.Place) error {
	if raw.Kind() != '{' {
		return fault.Invalid(place.String(), "%s: expected object", place)
	}
	err := member.Decode(raw, v)
	if err == nil {
		return nil
	}
	f := *fault.From(err)
	rest, named := bytes.CutPrefix([]byte(f.Message), []byte(f.Param+": "))
	f.Param = place.Join(f.Param)
	if named {
		f.Message = f.Param + ": " + string(rest)
	}
	return &f
}

// memberText is a string member of an object that is valid JSON; "" when there is
// none.
func memberText(raw jsontext.Value, name string) string {
	if value := member.Value(raw, name); len(value) > 0 && value[0] == '"' {
		return member.Raw(value).Word(types)
	}
	return ""
}

// types are those of most blocks.
var types = []string{"text", "tool_use", "tool_result", "image", "thinking", "document", "redacted_thinking", "custom", "direct"}
