package member

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Raw is the text of a value that is known to be JSON.
type Raw []byte

// Text reads a string.
func (r Raw) Text(to *string) bool {
	if len(r) < 2 || r[0] != '"' {
		return false
	}
	text := r[1 : len(r)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		return r.escaped(to)
	}
	*to = string(text)
	return true
}

// Word returns the text of a string, which is mostly one of a few.
func (r Raw) Word(few []string) string {
	for _, word := range few {
		if len(r) == len(word)+2 && string(r[1:len(r)-1]) == word {
			return word
		}
	}
	return r.String()
}

// String returns the text of a string, whatever is in it; "" when it is none.
func (r Raw) String() string {
	if len(r) == 0 || r[0] != '"' {
		return ""
	}
	if utf8.Valid(r) {
		var text string
		if r.Text(&text) {
			return text
		}
	}
	var text string // apart, since it is allocated
	_ = json.Unmarshal(r, &text, decodeOptions)
	return text
}

func (r Raw) escaped(to *string) bool {
	var room [256]byte
	text, ok := unquote(room[:0], r[1:len(r)-1])
	*to = string(text)
	return ok
}

// Extra adds an unknown member to its object's.
func (r Raw) Extra(to *jsontext.Value, name []byte) bool {
	out := *to
	if len(out) == 0 {
		out = append(make(jsontext.Value, 0, len(name)+len(r)+8), "{}"...)
	}
	out = out[:len(out)-1]
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = append(append(append(out, '"'), name...), '"', ':')
	*to = append(append(out, r...), '}')
	return true
}
