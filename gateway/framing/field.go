package framing

import (
	"bytes"
	"math"
)

// The header fields that say where a body ends, the one that every request has, and the one
// that net/http refuses by itself if it asks for what it does not know.
const (
	lengthName = "content-length:"
	codingName = "transfer-encoding:"
	hostName   = "host:"
	expectName = "expect:"
)

// field takes the line of a header field, without its end.
func (s *scanner) field(line []byte) string {
	var framing func(*head, []byte) string
	var name string
	switch {
	case len(line) == 0:
	case line[0]|0x20 == 'c' && hasName(line, lengthName):
		framing, name = (*head).contentLength, lengthName
	case line[0]|0x20 == 't' && hasName(line, codingName):
		framing, name = (*head).transferEncoding, codingName
	case line[0]|0x20 == 'h' && hasName(line, hostName):
		s.head.host = true
	case line[0]|0x20 == 'e' && hasName(line, expectName):
		return expectation(line)
	}
	switch {
	case framing == nil:
		return ""
	case len(line) >= maxHeld: // as it would be, had it come in pieces
		return LongField
	}
	return framing(&s.head, line[len(name):])
}

// expectation refuses all that a server need not understand (RFC 9110, 10.1.1). net/http would
// answer 417 itself, but then wait for the rest of the body, for as long as the caller likes.
func expectation(line []byte) string {
	value := bytes.Trim(line[len(expectName):], " \t")
	if len(line) < maxHeld && (len(value) == 0 || equalFold(value, "100-continue")) {
		return ""
	}
	return Expectation // as it would be, had it come in pieces
}

func (h *head) contentLength(value []byte) string {
	switch {
	case h.chunked:
		return TwoFramings
	case h.length:
		return TwoLengths
	}
	value = bytes.Trim(value, " \t")
	if len(value) == 0 {
		return Length
	}
	for _, c := range value {
		if c < '0' || c > '9' || h.size > (math.MaxInt64-int64(c-'0'))/10 {
			return Length
		}
		h.size = h.size*10 + int64(c-'0')
	}
	h.length = true
	return ""
}

func (h *head) transferEncoding(value []byte) string {
	switch {
	case h.length:
		return TwoFramings
	case h.chunked || !h.http11 || !equalFold(bytes.Trim(value, " \t"), "chunked"):
		return Coding
	}
	h.chunked = true
	return ""
}

func hasName(line []byte, name string) bool {
	return len(line) >= len(name) && equalFold(line[:len(name)], name)
}

// equalFold compares without regard to the case of ASCII letters. The text is in lower case.
func equalFold(b []byte, text string) bool {
	if len(b) != len(text) {
		return false
	}
	for i := range b {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != text[i] {
			return false
		}
	}
	return true
}
