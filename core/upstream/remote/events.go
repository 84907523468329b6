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
// hand, so that whoever knows the next events by sight need not have them parsed.
type events struct {
	r    io.Reader
	most int
	buf  []byte // what has arrived and is not taken
	room []byte // where buf lies
	// begun says that the beginning of the stream is past, where a byte order mark may
	// stand.
	begun bool
	// looked is how much of buf is known to hold no whole event.
	looked int
	// name is that of the event before, which most have again.
	name string
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
		if len(e.buf) > cap(e.room)/2 {
			e.room = make([]byte, 0, 2*cap(e.room))
		}
		e.buf = append(e.room[:0], e.buf...)
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

// skip takes n bytes unparsed.
func (e *events) skip(n int) { e.buf, e.looked = e.buf[n:], 0 }

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
	var data []byte
	dirty, lines := false, 0
	for at := 0; ; {
		line, after, whole := cutLine(e.buf[at:], ended)
		if !whole {
			if ended && dirty && at == len(e.buf) {
				e.buf = nil
				return codec.Frame{Event: f.Event, Data: data}, nil, true
			}
			e.looked = len(e.buf)
			return codec.Frame{}, nil, false
		}
		at += after
		if len(line) == 0 {
			if !dirty {
				e.buf, at = e.buf[at:], 0
				continue
			}
			raw, e.buf = e.buf[:at:at], e.buf[at:]
			return codec.Frame{Event: f.Event, Data: data}, raw, true
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if lines++; lines == 1 {
				data = bytes.Clone(value)
			} else {
				data = append(append(data, '\n'), value...)
			}
			dirty = true
		case "event":
			if string(value) != e.name {
				e.name = string(value)
			}
			f.Event, dirty = e.name, true
		case "id":
			dirty = dirty || bytes.IndexByte(value, 0) < 0
		}
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
