package capture

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Redacted is what a text becomes that is redacted. A number becomes 0, a boolean false, an object
// and a list empty; null stays.
const Redacted = `"[redacted]"`

// redactor replaces values of members.
type redactor struct {
	names    map[string]bool
	pointers [][]string
}

// newRedactor makes a redactor of entries that Rule.Check has no objection to; nil for none.
func newRedactor(entries []string) *redactor {
	if len(entries) == 0 {
		return nil
	}
	r := &redactor{names: map[string]bool{}}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, entry := range entries {
		rest, pointer := strings.CutPrefix(entry, "/")
		if !pointer {
			r.names[entry] = true
			continue
		}
		var path []string
		for part := range strings.SplitSeq(rest, "/") {
			path = append(path, unescape.Replace(part))
		}
		r.pointers = append(r.pointers, path)
	}
	return r
}

// body returns a body with the values replaced, up to where it can be understood: what comes after a
// mistake, or after the end of a body that is cut, is left out. It reports whether anything was
// replaced or left out.
func (r *redactor) body(data []byte, whole bool) (out []byte, redacted bool) {
	begun := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(begun) == 0 {
		return nil, len(data) > 0
	}
	if begun[0] == '{' || begun[0] == '[' {
		return r.values(data)
	}
	return r.events(data, whole)
}

// values replaces in JSON values, of which one may follow another.
func (r *redactor) values(data []byte) (out []byte, redacted bool) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	w := &walk{redactor: r, data: data, in: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	for w.in.PeekKind() != 0 && w.value(nil) {
	}
	end := int(w.in.InputOffset())
	if w.stop > 0 {
		end = w.stop
	}
	left := len(bytes.TrimSpace(data[end:])) > 0
	if !left {
		end = len(data)
	}
	if w.from < end {
		w.out = append(w.out, data[w.from:end]...)
	}
	return w.out, w.replaced || left
}

// walk goes through JSON and copies all but what is replaced.
type walk struct {
	*redactor
	data     []byte
	in       *jsontext.Decoder
	out      []byte
	from     int // where what is not copied yet begins
	stop     int // where nothing more may be copied; 0 for none
	replaced bool
}

// value goes through one value; false ends the walk.
func (w *walk) value(path []string) bool {
	open, err := w.in.ReadToken()
	if err != nil {
		return false
	}
	switch open.Kind() {
	case '{':
		for w.in.PeekKind() != '}' {
			name, err := w.in.ReadToken()
			if err != nil {
				return false
			}
			if !w.member(append(path, name.String()), true) {
				return false
			}
		}
	case '[':
		for i := 0; w.in.PeekKind() != ']'; i++ {
			if w.in.PeekKind() == 0 {
				return false
			}
			if !w.member(append(path, strconv.Itoa(i)), false) {
				return false
			}
		}
	default:
		return true
	}
	_, err = w.in.ReadToken()
	return err == nil
}

// member goes through the value at a path, or replaces it. named says that it is no element of a
// list.
func (w *walk) member(path []string, named bool) bool {
	if !w.matches(path, named) {
		return w.value(path)
	}
	at := int(w.in.InputOffset())
	kind := w.in.PeekKind()
	with := map[jsontext.Kind]string{'"': Redacted, '0': "0", 't': "false", 'f': "false", '{': "{}", '[': "[]", 'n': "null"}[kind]
	w.stop = at // unless the value ends
	if with == "" || w.in.SkipValue() != nil {
		w.replaced = true
		return false
	}
	w.stop = 0
	begin := at + len(w.data[at:]) - len(bytes.TrimLeft(w.data[at:], " \t\r\n:,"))
	w.out = append(append(w.out, w.data[w.from:begin]...), with...)
	w.from, w.replaced = int(w.in.InputOffset()), true
	return true
}

func (r *redactor) matches(path []string, named bool) bool {
	if named && r.names[path[len(path)-1]] {
		return true
	}
	for _, pointer := range r.pointers {
		if len(pointer) != len(path) {
			continue
		}
		same := true
		for i, part := range pointer {
			same = same && (part == "*" || part == path[i])
		}
		if same {
			return true
		}
	}
	return false
}

// events replaces in the data of server-sent events. Lines that are neither an event's name nor
// data are left out, and so is data that is no JSON, but for the word [DONE].
func (r *redactor) events(data []byte, whole bool) (out []byte, redacted bool) {
	var event []byte // its data
	lines := 0
	flush := func() {
		if lines == 0 {
			return
		}
		kept, changed := event, false
		if string(event) != "[DONE]" {
			kept, changed = nil, true
			if begun := bytes.TrimSpace(event); len(begun) > 0 && (begun[0] == '{' || begun[0] == '[') {
				kept, changed = r.values(event)
			}
		}
		out = append(append(append(out, "data: "...), bytes.ReplaceAll(kept, []byte("\n"), []byte(" "))...), '\n')
		redacted = redacted || changed
		event, lines = nil, 0
	}
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		data = rest
		if !ended && !whole {
			redacted = true // a line that is cut may be anything
			break
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		value, isData := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case len(line) == 0:
			flush()
			out = append(out, '\n')
		case isData:
			if lines++; lines > 1 {
				event = append(event, '\n')
			}
			event = append(event, bytes.TrimPrefix(value, []byte(" "))...)
		case isEventName(line):
			out = append(append(out, line...), '\n')
		default:
			redacted = true
		}
	}
	flush()
	return out, redacted
}

// isEventName reports whether a line has an event's name, and one of which no text can be made.
func isEventName(line []byte) bool {
	name, ok := bytes.CutPrefix(line, []byte("event: "))
	return ok && len(name) <= 64 && len(bytes.Trim(name, "abcdefghijklmnopqrstuvwxyz_.")) == 0
}
