package explain

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// leaf is a value of a body that is neither an object nor a list, or is empty, or lies so deep
// that it is taken as a whole.
type leaf struct {
	path  string
	value []byte
	at    int // where the value begins
}

const (
	// deepest is the depth at which a value is taken as a whole.
	deepest = 32
	// mostLeaves bounds those of one body.
	mostLeaves = 20_000
)

// leavesOf lists the leaves of a body, in order; truncated says that there are more. What is
// no JSON has those that it has up to there.
func leavesOf(body []byte) (leaves []leaf, truncated bool) {
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var walk func(path string, depth int) bool
	whole := func(path string) bool {
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		if len(leaves) == mostLeaves {
			truncated = true
			return false
		}
		at := int(d.InputOffset()) - len(value)
		leaves = append(leaves, leaf{path, bytes.Clone(value), at})
		return true
	}
	walk = func(path string, depth int) bool {
		kind := d.PeekKind()
		if kind != '{' && kind != '[' || depth == deepest {
			return whole(path)
		}
		before := len(leaves)
		start := int(d.InputOffset())
		if _, err := d.ReadToken(); err != nil {
			return false
		}
		end := jsontext.Kind('}')
		if kind == '[' {
			end = ']'
		}
		for i := 0; d.PeekKind() != end; i++ {
			below := path + "[" + strconv.Itoa(i) + "]"
			if kind == '{' {
				name, err := d.ReadToken()
				if err != nil {
					return false
				}
				if below = name.String(); path != "" {
					below = path + "." + below
				}
			}
			if !walk(below, depth+1) {
				return false
			}
		}
		if _, err := d.ReadToken(); err != nil {
			return false
		}
		if len(leaves) == before && path != "" { // it is empty
			at := start + bytes.IndexByte(body[start:], byte(kind))
			leaves = append(leaves, leaf{path, bytes.Clone(body[at:d.InputOffset()]), at})
		}
		return true
	}
	walk("", 0)
	return leaves, truncated
}

// others are values that stand in for the leaf's, to see what depends on it.
func (l leaf) others() [][]byte {
	null := []byte("null")
	switch {
	case l.value[0] == '"':
		return [][]byte{append(bytes.Clone(l.value[:len(l.value)-1]), `~"`...), null}
	case string(l.value) == "true":
		return [][]byte{[]byte("false"), null}
	case string(l.value) == "false":
		return [][]byte{[]byte("true"), null}
	case string(l.value) == "1":
		return [][]byte{[]byte("2"), []byte("0"), null}
	case l.value[0] == '-' || l.value[0] >= '0' && l.value[0] <= '9':
		return [][]byte{[]byte("1"), null}
	}
	return [][]byte{null}
}
