package spell

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
)

// node is a value of a caller's body. The members of objects keep their order, and
// scalars their spelling.
type node struct {
	kind   jsontext.Kind
	names  []string       // of an object's members
	values []*node        // an object's members or an array's elements
	raw    jsontext.Value // as it stands in the body
}

// parse reads a body; nil when it is no JSON. What is raw is not copied.
func parse(body []byte) *node {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), member.Options())
	return read(d, body)
}

func read(d *jsontext.Decoder, body []byte) *node {
	n := &node{kind: d.PeekKind()}
	if n.kind != '{' && n.kind != '[' {
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		end := d.InputOffset()
		n.raw = body[end-int64(len(value)) : end]
		return n
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	start := d.InputOffset() - 1
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		if n.kind == '{' {
			name, err := d.ReadToken()
			if err != nil {
				return nil
			}
			n.names = append(n.names, name.String())
		}
		value := read(d, body)
		if value == nil {
			return nil
		}
		n.values = append(n.values, value)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	n.raw = body[start:d.InputOffset()]
	return n
}

// isText reports whether the value is that string.
func (n *node) isText(text string) bool {
	return n.kind == '"' && member.Raw(n.raw).String() == text
}

// member finds a member of an object, and how the caller spells its name; nil for none.
func (n *node) member(name string, spelled func(string) string) (*node, string) {
	for i, own := range n.names {
		if own == name || spelled(own) == name {
			return n.values[i], own
		}
	}
	return nil, ""
}

// follow goes along a path as far as there are members, and returns that much of it in the
// caller's spelling.
func (n *node) follow(path string, spelled func(string) string) (known string, end *node, whole bool) {
	for rest := path; rest != ""; {
		var step string
		step, rest = next(rest)
		if step[0] == '[' {
			i, err := strconv.Atoi(strings.Trim(step, "[]"))
			if err != nil || n.kind != '[' || i < 0 || i >= len(n.values) {
				return known, n, false
			}
			known, n = known+step, n.values[i]
			continue
		}
		value, own := n.member(step, spelled)
		if value == nil {
			return known, n, false
		}
		known, n = member.Join(known, own), value
	}
	return known, n, true
}

// next takes the first step of a path: a member's name, or an index in its brackets.
func next(path string) (step, rest string) {
	end := strings.IndexAny(path, ".[")
	if end == 0 { // an index
		end = strings.IndexByte(path, ']') + 1
	}
	if end <= 0 {
		return path, ""
	}
	return path[:end], strings.TrimPrefix(path[end:], ".")
}
