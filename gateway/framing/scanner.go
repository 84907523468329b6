package framing

import (
	"bytes"

	"github.com/genway/genway/internal/frames"
)

// state is what the next byte of a connection belongs to.
type state uint8

const (
	atPreface   state = iota // HTTP/2's, or the first request line
	atRequest                // a request line
	atHeader                 // the line of a header field, or the one that ends the head
	atBody                   // a body of known length
	atChunk                  // the size of a chunk
	atExtension              // the rest of the line with the size
	atData                   // a chunk's data
	atDataEnd                // the CRLF behind it
	atTrailer                // the line of a trailer field, or the one that ends the body
	atHTTP2                  // HTTP/2, which is not looked at
)

// preface opens a connection of HTTP/2 (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// maxHeld bounds the line of a framing field, in bytes. Content-Length with all digits of
// an int64 has 37.
const maxHeld = 64

// scanner follows the requests of one connection. Its zero value is at the beginning.
type scanner struct {
	state state
	// column is how many bytes of the current line are delivered, and cr says that the
	// last of them was CR.
	column int
	cr     bool
	// left is how many bytes of the body or chunk are to come, or how many of the preface
	// have come, or the digits of a chunk's size.
	left   int64
	digits int
	// whole says that the last scan stopped at the end of a request.
	whole bool
	// requestLine is the beginning of the current request line, or of the last one.
	requestLine []byte
	// version is the end of a request line that came in pieces.
	version [len("HTTP/1.1\r")]byte
	// head is what is known of the current head.
	head head
	// meter keeps the account of HTTP/2.
	meter *frames.Meter
}

// head is what the fields of a head say so far.
type head struct {
	http11, host, length, chunked bool
	size                          int64
}

// scan looks at the bytes behind those it was given before, up to the end of a request. It
// says how many of them may be delivered. The rest must be given again with more behind them,
// unless reason says what is wrong: then nothing else may be delivered.
func (s *scanner) scan(p []byte) (n int, reason string) {
	s.whole = false
	for n < len(p) && reason == "" && !s.whole {
		var used int
		rest := p[n:]
		switch s.state {
		case atHTTP2:
			if !s.meter.In(rest) {
				return n, Flood
			}
			return len(p), ""
		case atPreface:
			used, reason = s.preface(rest)
		case atRequest:
			used, reason = s.request(rest)
		case atHeader:
			used, reason = s.header(rest)
			if used == 0 {
				return n, reason
			}
		case atBody, atData:
			used = int(min(s.left, int64(len(rest))))
			if s.left -= int64(used); s.left > 0 {
				break
			}
			if s.state == atBody {
				s.finish()
			} else {
				s.next(atDataEnd)
			}
		case atChunk:
			used, reason = s.chunk(rest)
		case atExtension, atDataEnd, atTrailer:
			used, reason = s.line(rest)
		}
		n += used
	}
	return n, reason
}

// next begins another line or body.
func (s *scanner) next(to state) { s.state, s.column, s.cr = to, 0, false }

// finish ends a request, so that no byte of another is delivered with it: what net/http then
// refuses is the request whose line is kept.
func (s *scanner) finish() {
	s.next(atRequest)
	s.whole = true
}

// line takes a line, or a piece of one, of which only its end matters.
func (s *scanner) line(p []byte) (int, string) {
	if s.column == 0 && s.state == atTrailer && (p[0] == ' ' || p[0] == '\t') {
		return 0, Folded
	}
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		if s.state == atDataEnd && (s.column+len(p) > 1 || p[0] != '\r') {
			return 0, ChunkEnd
		}
		s.pass(p)
		return len(p), ""
	}
	if !s.endsCR(p[:end]) {
		return end, BareLF
	}
	empty := s.column+end == 1
	switch {
	case s.state == atDataEnd && !empty:
		return 0, ChunkEnd
	case s.state == atDataEnd:
		s.next(atChunk)
		s.left, s.digits = 0, 0
	case s.state == atExtension && s.left > 0:
		s.next(atData)
	case s.state == atTrailer && empty:
		s.finish()
	default:
		s.next(atTrailer)
	}
	return end + 1, ""
}
