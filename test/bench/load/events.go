package load

import (
	"bytes"
	"errors"
)

// What can be wrong with a stream.
var (
	errOrder   = errors.New("pieces lost or out of order")
	errMissing = errors.New("pieces missing at the end")
	errNoEnd   = errors.New("stream without its end")
	errLate    = errors.New("text after the end")
)

// events reads a stream of events as it comes, in parts cut anywhere.
type events struct {
	expect Expect
	// rest is the line that has begun.
	rest []byte
	// open means that the event has a data line.
	open  bool
	ended bool
	// count is how many events have come, next which piece is to come.
	count, next int
	err         error
}

func (e *events) reset(expect Expect) {
	*e = events{expect: expect, rest: e.rest[:0]}
}

func (e *events) feed(p []byte) {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			e.rest = append(e.rest, p...)
			return
		}
		line := p[:i]
		if len(e.rest) > 0 {
			e.rest = append(e.rest, line...)
			line = e.rest
		}
		e.line(bytes.TrimSuffix(line, []byte("\r")))
		e.rest = e.rest[:0]
		p = p[i+1:]
	}
}

func (e *events) line(line []byte) {
	if len(line) == 0 {
		if e.open {
			e.count++
			e.open = false
		}
		return
	}
	if !bytes.HasPrefix(line, []byte("data:")) {
		return
	}
	e.open = true
	if bytes.Contains(line, []byte(e.expect.Delta)) {
		e.pieces(line)
	}
	if !e.ended {
		e.ended = bytes.Contains(line, []byte(e.expect.End))
	}
}

// pieces checks the pieces of a line; several may have been joined on the way.
func (e *events) pieces(line []byte) {
	word := []byte("token")
	for {
		i := bytes.Index(line, word)
		if i < 0 {
			return
		}
		line = line[i+len(word):]
		n, digits := 0, 0
		for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
			n = n*10 + int(line[digits]-'0')
			digits++
		}
		switch {
		case digits == 0:
			continue
		case e.ended:
			e.err = errLate
		case n != e.next && e.err == nil:
			e.err = errOrder
		}
		e.next++
	}
}

// check says what is wrong with the stream that has come to its end.
func (e *events) check() error {
	switch {
	case e.err != nil:
		return e.err
	case e.next < e.expect.Pieces:
		return errMissing
	case e.next > e.expect.Pieces:
		return errOrder
	case !e.ended:
		return errNoEnd
	}
	return nil
}
