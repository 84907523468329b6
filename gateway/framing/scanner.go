package framing

import (
	"bytes"
	"math"

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

// preface takes the first bytes of a connection.
func (s *scanner) preface(p []byte) (int, string) {
	n := 0
	for n < len(p) && p[n] == preface[s.left] {
		n++
		if s.left++; s.left == int64(len(preface)) {
			s.next(atHTTP2)
			s.meter = frames.New()
			return n, ""
		}
	}
	if n == len(p) {
		return n, ""
	}
	if line := preface[:len("PRI * HTTP/2.0")]; s.left > int64(len(line)) {
		s.keepLine([]byte(line))
		return n, Preface
	}
	// No request line but HTTP/2's ends within what has come of the preface.
	s.next(atRequest)
	s.keepLine([]byte(preface[:s.left]))
	s.column = int(s.left)
	s.keepVersion([]byte(preface[:s.left]))
	return n, ""
}

// request takes a request line, or as much of it as is there.
func (s *scanner) request(p []byte) (int, string) {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		s.keepLine(p)
		s.pass(p)
		s.keepVersion(p)
		return len(p), ""
	}
	line := p[:end]
	s.keepLine(line)
	if !s.endsCR(line) {
		return end, BareLF
	}
	if s.column+len(line) > 1 { // an empty line ahead of a request counts for nothing
		if len(line) < len(s.version) {
			s.keepVersion(line)
			line = s.version[:]
		}
		s.head = head{http11: bytes.HasSuffix(line, []byte("HTTP/1.1\r"))}
		s.next(atHeader)
	} else {
		s.next(atRequest)
	}
	return end + 1, ""
}

// keepVersion keeps the last bytes of a request line of which p is the next piece.
func (s *scanner) keepVersion(p []byte) {
	if len(p) >= len(s.version) {
		copy(s.version[:], p[len(p)-len(s.version):])
		return
	}
	copy(s.version[:], s.version[len(p):])
	copy(s.version[len(s.version)-len(p):], p)
}

// pass counts a piece of a line that goes on.
func (s *scanner) pass(p []byte) {
	if len(p) > 0 {
		s.column, s.cr = s.column+len(p), p[len(p)-1] == '\r'
	}
}

// endsCR reports whether the line of which p is the last piece ends in CR.
func (s *scanner) endsCR(p []byte) bool {
	if len(p) == 0 {
		return s.cr
	}
	return p[len(p)-1] == '\r'
}

// header takes the line of one header field, or as much as is there of one that is none of
// framing. What it does not take must come again, with more behind it.
func (s *scanner) header(p []byte) (int, string) {
	if s.column == 0 && (p[0] == ' ' || p[0] == '\t') {
		return 0, Folded
	}
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		return s.piece(p)
	}
	line := p[:end]
	if !s.endsCR(line) {
		if s.column > 0 {
			return end, BareLF
		}
		return 0, BareLF
	}
	switch {
	case s.column+len(line) == 1:
		s.body()
		return end + 1, ""
	case s.column == 0:
		if reason := s.field(line[:len(line)-1]); reason != "" {
			return 0, reason
		}
	}
	s.next(atHeader)
	return end + 1, ""
}

// piece takes the beginning of a line whose end is not there. One of a framing field is
// taken as a whole only.
func (s *scanner) piece(p []byte) (int, string) {
	if s.column == 0 {
		for _, name := range [...]string{lengthName, codingName, hostName, expectName} {
			if !equalFold(p[:min(len(p), len(name))], name[:min(len(p), len(name))]) {
				continue
			}
			switch {
			case name == hostName && len(p) >= len(name):
				s.head.host = true
			case len(p) > maxHeld && name == expectName:
				return 0, Expectation
			case len(p) > maxHeld:
				return 0, LongField
			default:
				return 0, ""
			}
		}
	}
	s.pass(p)
	return len(p), ""
}

// body begins what follows the head.
func (s *scanner) body() {
	switch {
	case s.head.chunked:
		s.next(atChunk)
		s.left, s.digits = 0, 0
	case s.head.size > 0:
		s.next(atBody)
		s.left = s.head.size
	default:
		s.finish()
	}
}

// chunk takes the size of a chunk: hexadecimal digits, up to an extension or the line's end.
func (s *scanner) chunk(p []byte) (int, string) {
	for n, c := range p {
		var digit byte
		switch {
		case '0' <= c && c <= '9':
			digit = c - '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			digit = c | 0x20 - 'a' + 10
		case (c == ';' || c == '\r') && s.digits > 0:
			s.next(atExtension)
			return n, ""
		default:
			return n, ChunkSize
		}
		if s.left > math.MaxInt64>>4 {
			return n, ChunkSize
		}
		s.left, s.digits = s.left<<4|int64(digit), 1
	}
	return len(p), ""
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
