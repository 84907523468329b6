package member

import (
	"bytes"

	"github.com/genway/genway/codec/fault"
	"github.com/go-json-experiment/json/jsontext"
)

// Merge sets the members of extra, the text of a JSON object, on the top level of
// body. Empty text changes nothing; param names it in errors.
func Merge(body []byte, extra, param string) ([]byte, error) {
	if extra == "" {
		return body, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader([]byte(extra)), jsontext.AllowInvalidUTF8(true))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, fault.Invalid(param, "%s: expected the text of a JSON object", param)
	}
	var members []Member
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, fault.Invalid(param, "%s: malformed JSON", param)
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, fault.Invalid(param, "%s: malformed JSON", param)
		}
		members = append(members, Member{Name: key, Value: value.Clone()})
	}
	if _, err := d.ReadToken(); err != nil || d.PeekKind() != 0 {
		return nil, fault.Invalid(param, "%s: malformed JSON", param)
	}
	return Patch(body, members...)
}
