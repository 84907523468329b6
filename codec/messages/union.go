package messages

import (
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
		var err error
		c.blocks, err = member.ReadRaws(d)
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
