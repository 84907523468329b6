package member

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is a JSON value with what is in it, in its order. All of a value is read once: values of any depth cost what
// they are long.
type Node struct {
	// Raw is the value as it was written.
	Raw jsontext.Value
	// Names are the names of an object's members, Values the members of an object or the elements of an array.
	Names  []string
	Values []*Node
}

// Kind is the kind of the value. That of a nil Node is 0.
func (n *Node) Kind() jsontext.Kind {
	if n == nil {
		return 0
	}
	return n.Raw.Kind()
}

// Member returns a member of an object; nil where there is none.
func (n *Node) Member(name string) *Node {
	if n == nil {
		return nil
	}
	for i, own := range n.Names {
		if own == name {
			return n.Values[i]
		}
	}
	return nil
}

// Text returns the text of a string; "" for any other value.
func (n *Node) Text() string {
	if n.Kind() != '"' {
		return ""
	}
	return Raw(n.Raw).String()
}

// ReadNode reads a value, which is not copied.
func ReadNode(raw jsontext.Value) (*Node, error) {
	return readNode(jsontext.NewDecoder(bytes.NewBuffer(raw), Options()), raw)
}

// readNode reads the next value of a decoder of all.
func readNode(d *jsontext.Decoder, all jsontext.Value) (*Node, error) {
	kind := d.PeekKind()
	if kind != '{' && kind != '[' {
		value, err := d.ReadValue()
		end := d.InputOffset()
		return &Node{Raw: all[end-int64(len(value)) : end]}, err
	}
	n := &Node{}
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
			n.Names = append(n.Names, name.String())
		}
		value, err := readNode(d, all)
		if err != nil {
			return nil, err
		}
		n.Values = append(n.Values, value)
	}
	_, err := d.ReadToken()
	n.Raw = all[start:d.InputOffset()]
	return n, err
}
