package member

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Raw is the text of a value that a walk has taken, for those who read a few members of
// known types many thousand times a second: its methods need no reflection. What they
// set is what the decoder would set; false says that the value is not of the type, or
// that only the decoder can tell. A null sets nothing.
type Raw []byte

// IsNull reports whether the value is null.
func (r Raw) IsNull() bool { return string(r) == "null" }

// Text reads a string.
func (r Raw) Text(to *string) bool {
	if r.IsNull() {
		return true
	}
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

// Like is Text for a string that is likely to be like another, which it is then.
func (r Raw) Like(to *string, like string) bool {
	if len(r) == len(like)+2 && string(r[1:len(r)-1]) == like && r[0] == '"' && strings.IndexByte(like, '\\') < 0 {
		*to = like
		return true
	}
	return r.Text(to)
}

// Word gives the text of a string, which is mostly one of a few.
func (r Raw) Word(few []string) string {
	for _, word := range few {
		if len(r) == len(word)+2 && string(r[1:len(r)-1]) == word {
			return word
		}
	}
	return r.String()
}

// String gives the text of a string, whatever is in it; "" when it is none.
func (r Raw) String() string {
	var text string
	if len(r) > 0 && r[0] == '"' && (!utf8.Valid(r) || !r.Text(&text)) {
		_ = Take(r, &text)
	}
	return text
}

func (r Raw) escaped(to *string) bool {
	var room [256]byte
	text, ok := unquote(room[:0], r[1:len(r)-1])
	*to = string(text)
	return ok
}

// Bool reads true or false.
func (r Raw) Bool(to *bool) bool {
	switch string(r) {
	case "true":
		*to = true
	case "null":
	default:
		*to = false
		return string(r) == "false"
	}
	return true
}

// Int reads a whole number of so many bits.
func (r Raw) Int(bits int) (int64, bool) {
	n, err := strconv.ParseInt(string(r), 10, bits)
	return n, err == nil
}

// Float reads a number.
func (r Raw) Float() (float64, bool) {
	n, err := strconv.ParseFloat(string(r), 64)
	return n, err == nil
}

// Count reads a whole number.
func (r Raw) Count(to *int64) bool {
	if r.IsNull() {
		return true
	}
	n, ok := r.Int(64)
	*to = n
	return ok
}

// Keep takes the text as it is.
func (r Raw) Keep(to *jsontext.Value) bool {
	*to = bytes.Clone(r)
	return true
}

// Take reads a value of any type the decoder knows.
func Take[T any](r Raw, to *T) bool {
	var value T // is all that goes to the heap, and not what to is a part of
	err := json.Unmarshal(r, &value, decodeOptions)
	*to = value
	return err == nil
}

// Extra adds a member that nobody knows to those of its object.
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

// Bools, Int32s, Int64s and Floats read values that may be absent.

// Bools reads true or false.
func (r Raw) Bools(to **bool) bool {
	if r.IsNull() {
		return true
	}
	*to = new(bool)
	return r.Bool(*to)
}

// Int32s reads a whole number.
func (r Raw) Int32s(to **int32) bool {
	if r.IsNull() {
		return true
	}
	n, ok := r.Int(32)
	small := int32(n)
	*to = &small
	return ok
}

// Int64s reads a whole number.
func (r Raw) Int64s(to **int64) bool {
	if r.IsNull() {
		return true
	}
	n, ok := r.Int(64)
	*to = &n
	return ok
}

// Floats reads a number.
func (r Raw) Floats(to **float64) bool {
	if r.IsNull() {
		return true
	}
	n, ok := r.Float()
	*to = &n
	return ok
}

// Members tells take of each member of an object; false when it is none, or take has
// said so.
func (r Raw) Members(take func(name []byte, value Raw) bool) bool {
	taken := true
	_, ok := skim(r, func(name, value span) bool {
		taken = take(r[name.from:name.to], r[value.from:value.to])
		return !taken
	})
	return ok && taken
}
