package remote

import (
	"bytes"
	"errors"
	"io"

	"github.com/genway/genway/codec"
)

// errEventTooLarge is an event above the bound.
var errEventTooLarge = errors.New("remote: an event of the stream is too large")

// events reads server-sent events (WHATWG HTML, 9.2.6) and keeps what has arrived at
// hand, so that whoever knows the next events by sight need not have them parsed. No
// byte is parsed twice, however the bytes arrive.
type events struct {
	r    io.Reader
	most int
	buf  []byte // what has arrived and is not taken
	room []byte // where buf lies
	// answer is whose memory the room is in; nil is the collector's.
	answer *answer
	// begun says that the beginning of the stream is past, where a byte order mark may
	// stand.
	begun bool
	// looked is how much of buf is known to end no line.
	looked int
	// under is the event that has arrived in part, and at how much of buf is parsed.
	under partial
	at    int
	// idle counts the bytes that were taken, comments too. Who reads the events sets it back
	// when one tells something.
	idle int
	// name is that of the event before, which most have again.
	name string
}

// partial is an event that has not arrived in full.
type partial struct {
	event string
	data  []byte
	lines int
	// dirty says that it is an event: it has data, a name or an id.
	dirty bool
}

func newEvents(r io.Reader, most int) *events {
	return &events{r: r, most: most, room: make([]byte, 0, 8<<10)}
}

// fill reads more. It gives io.EOF at the end of the stream, and then only.
func (e *events) fill() error {
	if len(e.buf) > e.most {
		return errEventTooLarge
	}
	if len(e.buf) == 0 {
		e.buf = e.room[:0]
	}
	if cap(e.buf)-len(e.buf) < 4<<10 {
		if err := e.grow(); err != nil {
			return err
		}
	}
	n, err := e.r.Read(e.buf[len(e.buf):cap(e.buf)])
	e.buf = e.buf[:len(e.buf)+n]
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// grow makes room behind what has arrived, which may move.
func (e *events) grow() error {
	if len(e.buf) > cap(e.room)/2 {
		size := 2 * cap(e.room)
		if e.answer == nil || size <= uncounted {
			e.room = append(make([]byte, 0, size), e.buf...)
			e.buf = e.room
			return nil
		}
		larger, err := e.answer.largerRoom(e.buf, size)
		if err != nil {
			return err
		}
		e.room, e.buf = larger[:0], larger[:len(e.buf)]
		return nil
	}
	e.buf = append(e.room[:0], e.buf...)
	return nil
}

// skip takes n bytes unparsed, of a buffer whose first event is not parsed.
func (e *events) skip(n int) { e.buf, e.looked = e.buf[n:], 0 }

// whole reports whether the buffer begins with an event of which nothing is parsed. What
// is parsed of the first is forgotten if it is short: its name.
func (e *events) whole() bool {
	if e.at > 0 && e.at <= 512 {
		e.at, e.looked, e.under = 0, 0, partial{}
	}
	return e.at == 0
}

// next takes the next event that has arrived in full: it, and the bytes it stood in,
// which are valid until the next fill. An event without data or name is none.
func (e *events) next(ended bool) (f codec.Frame, raw []byte, ok bool) {
	if !e.begun && len(e.buf) >= 3 {
		e.begun, e.looked = true, 0
		e.buf = bytes.TrimPrefix(e.buf, []byte("\xef\xbb\xbf"))
	}
	if !ended && !bytes.ContainsAny(e.buf[e.looked:], "\r\n") {
		e.looked = len(e.buf)
		return codec.Frame{}, nil, false
	}
	e.looked = 0
	for {
		line, after, whole := cutLine(e.buf[e.at:], ended)
		if !whole {
			if ended && e.under.dirty && e.at == len(e.buf) {
				return e.take(), nil, true
			}
			e.looked = len(e.buf)
			return codec.Frame{}, nil, false
		}
		e.at += after
		if len(line) > 0 {
			e.under.line(e, line)
			if !e.under.dirty {
				e.drop() // a comment ahead of an event is no part of it
			}
			continue
		}
		if !e.under.dirty {
			e.drop()
			continue
		}
		raw = e.buf[:e.at:e.at]
		return e.take(), raw, true
	}
}

// drop takes what is parsed and told nothing.
func (e *events) drop() {
	e.idle += e.at
	e.buf, e.at = e.buf[e.at:], 0
}

// take takes the event that is parsed.
func (e *events) take() codec.Frame {
	f := codec.Frame{Event: e.under.event, Data: e.under.data}
	e.idle += e.at
	e.buf, e.at, e.under = e.buf[e.at:], 0, partial{}
	return f
}

// line adds a line to the event.
func (p *partial) line(e *events, line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if p.lines++; p.lines == 1 {
			p.data = bytes.Clone(value)
		} else {
			p.data = append(append(p.data, '\n'), value...)
		}
		p.dirty = true
	case "event":
		if string(value) != e.name {
			e.name = string(value)
		}
		p.event, p.dirty = e.name, true
	case "id":
		p.dirty = p.dirty || bytes.IndexByte(value, 0) < 0
	}
}

// cutLine gives the first line of b, without its end, and where the next begins. A
// carriage return is a line's end, too, and one with the line feed behind it.
func cutLine(b []byte, ended bool) (line []byte, after int, whole bool) {
	i := bytes.IndexByte(b, '\n')
	head := b
	if i >= 0 {
		head = b[:i]
	}
	r := bytes.IndexByte(head, '\r')
	switch {
	case r < 0 && i < 0:
		return nil, 0, false
	case r < 0:
		return b[:i], i + 1, true
	case r+1 < len(b) && b[r+1] == '\n':
		return b[:r], r + 2, true
	case r+1 == len(b) && !ended:
		return nil, 0, false // its line feed may be on the way
	}
	return b[:r], r + 1, true
}
