package explain

import (
	"bytes"
	"slices"
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
	// maxLeaves bounds those of one body.
	maxLeaves = 20_000
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
		if len(leaves) == maxLeaves {
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

// stops are reasons for which answers end. An unknown word is often read as the commonest of them, so that
// only another of them tells what depends on one.
var stops = []string{"end_turn", "max_tokens", "stop", "length", "STOP", "MAX_TOKENS", "completed", "incomplete", "STOP_REASON_END_TURN", "STOP_REASON_MAX_TOKENS"}

// roles are those of messages. An unknown role is refused, so that another of them has to tell where it arrives.
var roles = []string{"user", "assistant", "system", "developer", "model"}

// alternatives are groups of words. To test what depends on a word, another word of its group replaces it.
var alternatives = [][]string{stops, roles}

// others are values that stand in for the leaf's, to see what depends on it.
func (l leaf) others() [][]byte {
	null := []byte("null")
	switch {
	case l.value[0] == '"':
		values := [][]byte{append(bytes.Clone(l.value[:len(l.value)-1]), `~"`...), null}
		for _, group := range alternatives {
			if slices.Contains(group, string(l.value[1:len(l.value)-1])) {
				for _, word := range group {
					values = append(values, []byte(`"`+word+`"`))
				}
			}
		}
		return values
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

// without returns a body without the leaves that drop names, and without what is empty then.
func without(body []byte, drop func(l leaf) bool) []byte {
	leaves, truncated := leavesOf(body)
	if truncated {
		return body
	}
	dropped := map[string]bool{}
	for _, l := range leaves {
		dropped[l.path] = drop(l)
	}
	var prune func(path string, value jsontext.Value) (jsontext.Value, bool)
	prune = func(path string, value jsontext.Value) (jsontext.Value, bool) {
		if isDropped, isLeaf := dropped[path]; isLeaf || value.Kind() != '{' && value.Kind() != '[' {
			return value, !isDropped
		}
		d, out, n := jsontext.NewDecoder(bytes.NewReader(value)), []byte{byte(value.Kind())}, 0
		if _, err := d.ReadToken(); err != nil {
			return value, true
		}
		for i := 0; d.PeekKind() > 0 && d.PeekKind() != ']' && d.PeekKind() != '}'; i++ {
			below, name := path+"["+strconv.Itoa(i)+"]", jsontext.Value(nil)
			if value.Kind() == '{' {
				read, err := d.ReadValue()
				if err != nil {
					return value, true
				}
				name = read.Clone()
				text, _ := jsontext.AppendUnquote(nil, name) // it was read as JSON
				if below = string(text); path != "" {
					below = path + "." + below
				}
			}
			read, err := d.ReadValue()
			if err != nil {
				return value, true
			}
			kept, ok := prune(below, read.Clone())
			if !ok {
				continue
			}
			if n++; n > 1 {
				out = append(out, ',')
			}
			if name != nil {
				out = append(append(out, name...), ':')
			}
			out = append(out, kept...)
		}
		closing := byte('}')
		if value.Kind() == '[' {
			closing = ']'
		}
		return append(out, closing), n > 0 || path == ""
	}
	pruned, _ := prune("", body)
	return pruned
}
