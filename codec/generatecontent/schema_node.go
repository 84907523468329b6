package generatecontent

import (
	"bytes"

	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
)

// schemaNode is a value within a schema. All of a schema is read once: schemas of any depth cost
// what they are long.
type schemaNode struct {
	raw    jsontext.Value // as it stands in the schema
	names  []string       // of an object's members
	values []*schemaNode  // an object's members or an array's elements
}

func (n *schemaNode) kind() jsontext.Kind { return n.raw.Kind() }

// readSchema reads a schema, which is not copied.
func readSchema(raw jsontext.Value) (*schemaNode, error) {
	return readNode(jsontext.NewDecoder(bytes.NewBuffer(raw), member.Options()), raw)
}

// readNode reads the next value of a decoder of all.
func readNode(d *jsontext.Decoder, all jsontext.Value) (*schemaNode, error) {
	kind := d.PeekKind()
	if kind != '{' && kind != '[' {
		value, err := d.ReadValue()
		end := d.InputOffset()
		return &schemaNode{raw: all[end-int64(len(value)) : end]}, err
	}
	n := &schemaNode{}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	start := d.InputOffset() - 1
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		if kind == '{' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			n.names = append(n.names, name.String())
		}
		value, err := readNode(d, all)
		if err != nil {
			return nil, err
		}
		n.values = append(n.values, value)
	}
	_, err := d.ReadToken()
	n.raw = all[start:d.InputOffset()]
	return n, err
}
