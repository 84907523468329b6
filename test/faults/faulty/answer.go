package faulty

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Answer is a whole and good answer, and where its moments are.
type Answer struct {
	Streamed bool
	// Type is the Content-Type of a stream that is framed in another way than server-sent
	// events; empty for those.
	Type string
	// Pieces are the events of a stream, framed, or the pieces of a body.
	Pieces []string
	// At is how many pieces have been sent at a moment.
	At map[Moment]int
}

// Stream is a streamed answer of events. Preamble is how many come before the first
// content, tail how many tell that the answer has ended, terminator how many of
// those only end the stream.
func Stream(events []string, preamble, tail, terminator int) Answer {
	return Answer{Streamed: true, Pieces: events, At: map[Moment]int{
		AfterHeaders: 0, BeforeContent: preamble, Middle: preamble + 1, BeforeEnd: len(events) - tail, AfterEnd: len(events) - terminator,
	}}
}

// Body is a unary answer that says content somewhere.
func Body(body, content string) Answer {
	begin := strings.Index(body, content)
	if begin < 0 {
		panic(fmt.Sprintf("faulty: %q is not in %s", content, body))
	}
	half, end := begin+len(content)/2, len(body)-1
	return Answer{Pieces: []string{body[:begin], body[begin:half], body[half:end], body[end:]}, At: map[Moment]int{
		AfterHeaders: 0, BeforeContent: 1, Middle: 2, BeforeEnd: 3,
	}}
}

// noise is what neither HTTP, nor the framing of events, nor JSON can hold.
const noise = "\x16\x03\x01\x02\xff\x00SSH-2.0-\x80\x81\r\n"

// raw returns the bytes of an answer on the connection, those until the moment and
// those after it, as the fault has them framed.
func (a Answer) raw(f Fault, m Moment) (before, after string) {
	pieces, n := a.Pieces, a.At[m]
	switch {
	case m == BeforeHeaders:
	case f == Truncation:
		pieces = pieces[:n]
	case f == Garbled:
		broken := noise
		if a.Streamed && a.Type == "" {
			broken = "data: " + noise + "\n\n"
		}
		pieces = append(append(append([]string(nil), pieces[:n]...), broken), pieces[n:]...)
	}
	mime := "application/json"
	if a.Streamed {
		mime = cmp.Or(a.Type, "text/event-stream")
	}
	head := "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: " + mime + "\r\n"
	piece, end := func(s string) string { return s }, ""
	switch {
	case f == HalfClose:
		head += "\r\n"
	case a.Streamed || f == Garbage:
		head += "Transfer-Encoding: chunked\r\n\r\n"
		piece = func(s string) string { return strconv.FormatInt(int64(len(s)), 16) + "\r\n" + s + "\r\n" }
		end = "0\r\n\r\n"
	default:
		head += "Content-Length: " + strconv.Itoa(len(strings.Join(pieces, ""))) + "\r\n\r\n"
	}
	framed := make([]string, len(pieces))
	for i, p := range pieces {
		framed[i] = piece(p)
	}
	switch {
	case m == BeforeHeaders && f == Truncation:
		return head[:len(head)/2], ""
	case m == BeforeHeaders:
		return "", head + strings.Join(framed, "") + end
	}
	return head + strings.Join(framed[:n], ""), strings.Join(framed[n:], "") + end
}
