package remote

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec"
)

var errEventTooLarge = errors.New("remote: an event of the stream is too large")

// events reads server-sent events (WHATWG HTML, 9.2.6). Its buffer has the bytes that have arrived,
// so that a pattern can match the next events without parsing them. No byte is parsed twice,
// however the bytes arrive.
type events struct {
	r      io.Reader
	limit  int
	buf    []byte // has arrived and is not taken
	memory []byte // holds buf
	// answer is the answer that memory counts for; nil counts it nowhere.
	answer *answer
	// started means that the beginning of the stream, where a byte order mark may be, was read.
	started bool
	// scanned is the length of the beginning of buf that has no end of a line.
	scanned int
	// part is the event that has arrived in part; at is the length of buf that is parsed.
	part partial
	at   int
	// withoutContent counts the bytes that were taken, comments too. The reader of the events sets
	// it to 0 with each event that has content of the answer.
	withoutContent int
	// name is the previous event's; most events have the same.
	name string
}

// partial is an event that has not arrived in full.
type partial struct {
	event string
	data  []byte
	lines int
	// dirty means that it is an event: it has data, a name or an id.
	dirty bool
}

func newEvents(r io.Reader, limit int) *events {
	return &events{r: r, limit: limit, memory: make([]byte, 0, 8<<10)}
}

// fill reads more into the buffer. Its error is io.EOF only at the end of the stream.
func (e *events) fill() error {
	if len(e.buf) > e.limit {
		return errEventTooLarge
	}
	if len(e.buf) == 0 {
		e.buf = e.memory[:0]
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

// grow makes space at the end of the buffer, which may be copied for it.
func (e *events) grow() error {
	if len(e.buf) > cap(e.memory)/2 {
		size := 2 * cap(e.memory)
		if e.answer == nil || size <= uncounted {
			e.memory = append(make([]byte, 0, size), e.buf...)
			e.buf = e.memory
			return nil
		}
		larger, err := e.answer.largerBuffer(e.buf, size)
		if err != nil {
			return err
		}
		e.memory, e.buf = larger[:0], larger[:len(e.buf)]
		return nil
	}
	e.buf = append(e.memory[:0], e.buf...)
	return nil
}

// skip takes n bytes without parsing them. atEvent must have reported true.
func (e *events) skip(n int) { e.buf, e.scanned = e.buf[n:], 0 }

// atEvent reports whether the buffer begins with an event of which nothing is parsed. If no more
// than the name of that event is parsed, it will be parsed again.
func (e *events) atEvent() bool {
	if e.at > 0 && e.at <= 512 {
		e.at, e.scanned, e.part = 0, 0, partial{}
	}
	return e.at == 0
}

// next takes the next event that has arrived in full. raw is its bytes, which are valid until the
// next fill. Events without data, name and id are skipped. ended means that no more bytes follow.
func (e *events) next(ended bool) (f codec.Frame, raw []byte, ok bool) {
	if !e.started && len(e.buf) >= 3 {
		e.started, e.scanned = true, 0
		e.buf = bytes.TrimPrefix(e.buf, byteOrderMark)
	}
	if !ended && !bytes.ContainsAny(e.buf[e.scanned:], "\r\n") {
		e.scanned = len(e.buf)
		return codec.Frame{}, nil, false
	}
	e.scanned = 0
	for {
		line, after, whole := cutLine(e.buf[e.at:], ended)
		if !whole {
			if ended && e.part.dirty && e.at == len(e.buf) {
				return e.take(), nil, true
			}
			e.scanned = len(e.buf)
			return codec.Frame{}, nil, false
		}
		e.at += after
		if len(line) > 0 {
			e.part.line(e, line)
			if !e.part.dirty {
				e.drop() // a comment ahead of an event does not belong to it
			}
			continue
		}
		if !e.part.dirty {
			e.drop()
			continue
		}
		raw = e.buf[:e.at:e.at]
		return e.take(), raw, true
	}
}

// drop takes the bytes that are parsed and are no event.
func (e *events) drop() {
	e.withoutContent += e.at
	e.buf, e.at = e.buf[e.at:], 0
}

// take takes the event that is parsed.
func (e *events) take() codec.Frame {
	f := codec.Frame{Event: e.part.event, Data: e.part.data}
	e.withoutContent += e.at
	e.buf, e.at, e.part = e.buf[e.at:], 0, partial{}
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

// cutLine returns the first line of b, without its end, and where the next begins. A line ends with
// a line feed, a carriage return, or both.
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
		return nil, 0, false // its line feed may follow
	}
	return b[:r], r + 1, true
}

// maxWithoutContent bounds the bytes of a stream between two events with content of the answer.
// Comments, pings and events without content keep a call alive, at the upstream's pace: a
// comment of 25 bytes each second takes a week to reach the bound. Events that repeat a large
// request (response.in_progress) are within it.
const maxWithoutContent = 16 << 20

// events returns the events of an answer that is a stream. Their buffer counts as memory of the
// answer.
func (a *answer) events() *events {
	in := newEvents(a.body, int(a.upstream.config.MaxAnswerBytes))
	in.answer = a
	return in
}

// largerBuffer returns a buffer of size bytes that begins with a copy of b. It counts twice: the
// data of an event is copied out of it.
func (a *answer) largerBuffer(b []byte, size int) ([]byte, error) {
	a.buffer = 2 * int64(size)
	if err := a.hold(a.buffer); err != nil {
		return nil, err
	}
	larger := make([]byte, size)
	copy(larger, b)
	a.upstream.config.Memory.discard(int64(len(b)))
	return larger, nil
}

// fill reads more of the stream. It fails if too much was read since the last content.
func (a *answer) fill(in *events) error {
	if in.withoutContent > maxWithoutContent {
		return errNoContent
	}
	return in.fill()
}

// weigh counts the memory that an event takes once it is decoded, until the next event is
// weighed.
func (a *answer) weigh(event []byte) error {
	if len(event) < weighed && !a.heavy {
		return nil
	}
	a.heavy = len(event) >= weighed
	return a.hold(a.buffer + weight(event, true))
}

// isStream reports whether the answer to a unary call is a stream of events: its Content-Type says
// so and it is neither JSON nor text, or it begins like one.
func isStream(h http.Header, raw []byte) bool {
	if mediaType, _, _ := mime.ParseMediaType(h.Get("Content-Type")); mediaType == "text/event-stream" {
		return !isJSON(raw) && !isText(h, raw) // both occur with this type
	}
	return beginsEvents(raw)
}

func beginsEvents(raw []byte) bool {
	raw = bytes.TrimLeft(bytes.TrimPrefix(raw, byteOrderMark), "\r\n")
	return slices.ContainsFunc([]string{"data:", "event:", "id:", "retry:", ":"}, func(field string) bool {
		return bytes.HasPrefix(raw, []byte(field))
	})
}

// isText reports whether an answer is text by its Content-Type and by its content, as a line that
// an upstream writes for people (genway.v1.WireMessage). A body that begins like JSON, HTML or
// events is a broken one of those. The type that Go's servers guess for a body without one
// (http.DetectContentType) does not count.
func isText(h http.Header, raw []byte) bool {
	value := h.Get("Content-Type")
	mediaType, _, err := mime.ParseMediaType(value)
	if err != nil || value == "text/plain; charset=utf-8" || mediaType != "text/plain" && mediaType != "text/event-stream" {
		return false
	}
	start := bytes.TrimSpace(raw)
	return len(start) > 0 && !strings.ContainsRune("{[\"<", rune(start[0])) && !isJSON(raw) && !beginsEvents(raw) &&
		utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0
}

// isUnary reports whether the answer to a streamed call begins like a JSON object, as no stream of
// events does. It fills the buffer of in as far as necessary and takes nothing from it.
func (a *answer) isUnary(in *events) (bool, error) {
	for {
		start := bytes.TrimLeft(bytes.TrimPrefix(in.buf, byteOrderMark), " \t\r\n")
		if len(start) > 0 {
			return start[0] == '{', nil
		}
		if err := a.fill(in); err != nil {
			return false, err
		}
		if len(in.buf) > uncounted {
			return false, nil
		}
	}
}
