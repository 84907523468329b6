package framing

import (
	"bytes"

	"github.com/genway/genway/internal/frames"
)

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
