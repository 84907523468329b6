package remote

import (
	"bytes"
	"strconv"
	"unicode/utf16"

	"github.com/genway/genway/codec/member"
)

// pattern is an event that adds to a text, as an upstream writes it: literal bytes, and between
// them the few values that change from one such event to the next. Models send hundreds of them in
// a row. An event that matches the pattern of an event that was decoded differs from it only in
// those values, and is forwarded without being decoded.
type pattern struct {
	literals [][]byte
	texts    []bool // for each value between the literals: whether it is a string; else a number
	text     int    // the index of the value that is the added text
	event    []byte // the bytes that the literals are parts of
}

// varying are the members whose values change from event to event: the texts of all protocols, the
// padding, and the number of an event.
var varying = [][]byte{
	[]byte(`"content":`), []byte(`"text":`), []byte(`"delta":`), []byte(`"thinking":`), []byte(`"reasoning_content":`),
	[]byte(`"obfuscation":`), []byte(`"sequence_number":`),
}

// learn makes the pattern of the event in raw, which adds text to a text or to thinking, and nothing else.
// There is no pattern unless text is in raw exactly once, without escapes.
func (p *pattern) learn(raw []byte, text string) {
	p.literals, p.texts = p.literals[:0], p.texts[:0]
	if text == "" || !plain(raw) {
		return
	}
	p.event = append(p.event[:0], raw...)
	raw = p.event
	found := 0
	for from, at := 0, nextVarying(raw, 0); ; at = nextVarying(raw, at) {
		if at < 0 {
			p.literals = append(p.literals, raw[from:])
			break
		}
		end, isText, ok := variable(raw, at)
		if !ok {
			continue // an object or null is a part of the literal
		}
		p.literals, p.texts = append(p.literals, raw[from:at]), append(p.texts, isText)
		if isText && string(raw[at+1:end-1]) == text {
			found++
			p.text = len(p.texts) - 1
		}
		from, at = end, end
	}
	if found != 1 {
		p.literals = p.literals[:0]
	}
}

// match returns the length of the event that b begins with, and the bytes of text that it adds; 0 if
// it does not match the pattern or is not there in full.
func (p *pattern) match(b []byte) (length, text int) {
	i := 0
	for k, literal := range p.literals {
		if !bytes.HasPrefix(b[i:], literal) {
			return 0, 0
		}
		if i += len(literal); k == len(p.texts) {
			break
		}
		end, isText, ok := variable(b, i)
		if !ok || isText != p.texts[k] {
			return 0, 0
		}
		if k == p.text {
			text = unescaped(b[i+1 : end-1])
		}
		i = end
	}
	return i, text
}

// batch returns the length and the number of the matching events that b begins with, and the bytes
// of text that they add.
func (p *pattern) batch(b []byte) (length, events, text int) {
	for {
		n, adds := p.match(b[length:])
		if n == 0 {
			return length, events, text
		}
		length += n
		events++
		text += adds
	}
}

// unescaped returns the length in bytes of the text of a JSON string: one for an escape of two bytes,
// the length in UTF-8 for one of six, and four for a pair of surrogates.
func unescaped(b []byte) int {
	n := len(b)
	for {
		at := bytes.IndexByte(b, '\\')
		if at < 0 || at+1 >= len(b) {
			return n
		}
		if b[at+1] != 'u' || at+6 > len(b) {
			n, b = n-1, b[at+2:]
			continue
		}
		switch code, err := strconv.ParseUint(string(b[at+2:at+6]), 16, 16); {
		case err != nil:
		case code < 0x80:
			n -= 5
		case code < 0x800, utf16.IsSurrogate(rune(code)):
			n -= 4
		default:
			n -= 3
		}
		b = b[at+6:]
	}
}

// plain reports whether an event is written as the edge writes it.
func plain(raw []byte) bool {
	if named, ok := bytes.CutPrefix(raw, []byte("event: ")); ok {
		_, raw, _ = bytes.Cut(named, []byte("\n"))
	}
	data, ok := bytes.CutPrefix(raw, []byte("data: "))
	data, ended := bytes.CutSuffix(data, []byte("\n\n"))
	return ok && ended && !bytes.ContainsAny(data, "\r\n")
}

// nextVarying returns the index at which the value of the next varying member begins, from i on; -1
// for none.
func nextVarying(b []byte, i int) int {
	for from := i; ; {
		at := bytes.Index(b[from:], []byte(`":`))
		if at < 0 {
			return -1
		}
		from += at + 2
		for _, name := range varying {
			if !bytes.HasSuffix(b[i:from], name) {
				continue
			}
			for from < len(b) && b[from] == ' ' {
				from++
			}
			return from
		}
	}
}

// variable returns the end of the string or the whole number that begins at i.
func variable(b []byte, i int) (end int, isText, ok bool) {
	if i < len(b) && b[i] == '"' {
		end, ok = member.String(b, i)
		return end, true, ok
	}
	end = i
	for end < len(b) && b[end] >= '0' && b[end] <= '9' {
		end++
	}
	return end, false, end > i
}
