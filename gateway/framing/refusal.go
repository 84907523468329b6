package framing

import (
	"bytes"
	"time"
)

// Refusal is a request over HTTP/1 that net/http itself refuses, ahead of any handler: its
// head is malformed or too large, or ends too early, or is of another version of HTTP, or in
// clear text on a TLS port.
type Refusal struct {
	// Status is that of net/http's answer: 400, 431 or 505.
	Status int
	// Reason is Malformed, Host, Incomplete, LargeHead, Version or NoTLS.
	Reason string
	// Line is the request line as it came, without its end: at most its first 256 bytes. It
	// may be empty, or hold anything.
	Line []byte
}

// maxLine bounds the part of a request line that is kept, in bytes: the longest path of a
// protocol has 30 beside the name of a model.
const maxLine = 256

// Answering notes that a handler has begun to answer a request of the connection, so that the bytes
// written next are its answer; with false, that the answer has been written. net/http reports the
// beginning by calling the handler, and the end by the state http.StateIdle of the connection.
func (c *Conn) Answering(begun bool) { c.answering.Store(begun) }

// BeingAnswered reports whether a handler answers a request of the connection.
func (c *Conn) BeingAnswered() bool { return c.answering.Load() }

// refused reports whether the bytes are an answer of net/http's own. It writes one at a time,
// while no handler answers. On HTTP/2 it answers with frames, which are not looked at.
func (c *Conn) refused(p []byte) (Refusal, bool) {
	if c.config.Refuse == nil || c.answering.Load() || c.HTTP2() {
		return Refusal{}, false
	}
	status, text, ok := statusOf(p)
	if !ok {
		return Refusal{}, false
	}
	r := Refusal{Status: status, Reason: reasonOf(status, text), Line: bytes.TrimRight(c.scanner.requestLine, "\r")}
	if c.cut && c.scanner.inHead() && r.Reason == Malformed {
		r.Reason = Incomplete
	}
	return r, true
}

// statusOf reads the status line of an answer of net/http's own, "HTTP/1.1 400 Bad Request"
// and sometimes a colon and a text. ok is false for anything else.
func statusOf(p []byte) (status int, text string, ok bool) {
	line, _, whole := bytes.Cut(p, []byte("\r\n"))
	rest, isStatus := bytes.CutPrefix(line, []byte("HTTP/1.1 "))
	if !whole || !isStatus || len(rest) < 4 || rest[3] != ' ' {
		return 0, "", false
	}
	for _, digit := range rest[:3] {
		if digit < '0' || digit > '9' {
			return 0, "", false
		}
		status = status*10 + int(digit-'0')
	}
	_, why, _ := bytes.Cut(rest, []byte(": "))
	return status, string(why), status >= 400
}

// reasonOf translates the texts of net/http. A text that it does not know is Malformed.
func reasonOf(status int, text string) string {
	switch {
	case status == 431:
		return LargeHead
	case status == 505:
		return Version
	case text == "missing required Host header", text == "malformed Host header":
		return Host
	}
	return Malformed
}

// refuse sends the answer of Config.Refuse in the place of net/http's, and delivers nothing
// else: the connection ends.
func (c *Conn) refuse(r Refusal) error {
	if !c.ended.Swap(true) && c.config.Ended != nil {
		c.config.Ended(r.Reason, c.RemoteAddr())
	}
	_ = c.SetWriteDeadline(time.Now().Add(refusalTime))
	_, err := c.Conn.Write(c.config.Refuse(r, c))
	return err
}

// refusalTime is how long a caller may take to accept a refusal.
const refusalTime = 10 * time.Second

// keepLine keeps the beginning of the request line of which p is the next piece.
func (s *scanner) keepLine(p []byte) {
	if s.column == 0 {
		s.requestLine = s.requestLine[:0]
	}
	s.requestLine = append(s.requestLine, p[:min(len(p), maxLine-len(s.requestLine))]...)
}

// inHead reports whether a head has begun and not ended.
func (s *scanner) inHead() bool {
	return s.state == atHeader || s.state == atRequest && s.column > 0 || s.state == atPreface && s.left > 0
}
