package member

import (
	"bytes"

	"github.com/genway/genway/codec/fault"
	"github.com/go-json-experiment/json/jsontext"
)

// Walk calls visit with the members of an object in their order, by the JSON library: names
// have no escapes, values are parts of object. It ends when visit gives false. The error is
// the library's, or a *fault.Error for a value that is no object.
func Walk(object []byte, visit func(name string, value jsontext.Value) bool, options ...jsontext.Options) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(object), options...)
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "the body is not a JSON object")
	}
	for d.PeekKind() == '"' {
		tok, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := tok.String()
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		if !visit(name, value) {
			return nil
		}
	}
	_, err := d.ReadToken()
	return err
}

// ReadRaws reads an array that a decoder is about to read; its elements are copies.
func ReadRaws(d *jsontext.Decoder) ([]jsontext.Value, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	list := []jsontext.Value{}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		list = append(list, value.Clone())
	}
	_, err := d.ReadToken()
	return list, err
}
