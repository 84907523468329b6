// Package faulty is an upstream that fails on the wire: it speaks just enough of
// HTTP/1.1 by hand, over TCP or TLS, to break an answer in any way at any moment,
// which a proper server would not let it.
//
// It must not import anything of ours: what it sends is what the test wrote.
package faulty

// Fault is a way to fail.
type Fault string

// The faults.
const (
	Refuse       Fault = "refuse"
	ConnectStall Fault = "connect stall"
	TLSFailure   Fault = "TLS failure"
	Reset        Fault = "reset"
	HalfClose    Fault = "half close"
	Stall        Fault = "stall"
	Trickle      Fault = "1 byte a second"
	Garbage      Fault = "garbage"
	Garbled      Fault = "garbled content"
	Truncation   Fault = "truncation"
)

// Faults are all of them.
func Faults() []Fault {
	return []Fault{Refuse, ConnectStall, TLSFailure, Reset, HalfClose, Stall, Trickle, Garbage, Garbled, Truncation}
}

// About says what the upstream does.
func (f Fault) About() string {
	return map[Fault]string{
		Refuse:       "no process listens",
		ConnectStall: "the connection is never established",
		TLSFailure:   "the certificate is not trusted; later, a TLS record is broken",
		Reset:        "the connection is reset (RST)",
		HalfClose:    "the upstream closes its side (FIN) of an answer that only the connection's end delimits",
		Stall:        "the connection stays open and silent",
		Trickle:      "from then on a byte at a time, each in time (0.2 ms instead of 1 s here)",
		Garbage:      "noise on the connection, outside of HTTP's framing; then the rest of the answer",
		Garbled:      "noise in the answer's content, HTTP in order; then the rest of the answer",
		Truncation:   "HTTP ends the answer in order, too early; before the headers, in the midst of them",
	}[f]
}

// Moment is how far an answer has come when the fault sets in.
type Moment string

// The moments. AfterEnd is for streams: the answer was sent to its end, the
// protocol's terminator or the end of the body is missing.
const (
	BeforeHeaders Moment = "before headers"
	AfterHeaders  Moment = "after headers"
	BeforeContent Moment = "before first content"
	Middle        Moment = "middle"
	BeforeEnd     Moment = "before the end"
	AfterEnd      Moment = "after the end"
)

// Moments are all of them.
func Moments() []Moment {
	return []Moment{BeforeHeaders, AfterHeaders, BeforeContent, Middle, BeforeEnd, AfterEnd}
}

// Meaningless says why there is no such case; "" where there is.
func Meaningless(f Fault, m Moment, streamed bool) string {
	switch {
	case m == AfterEnd && !streamed:
		return "a unary answer ends with its body"
	case f == Refuse && m != BeforeHeaders:
		return "a connection that is established cannot be refused"
	case f == ConnectStall && m != BeforeHeaders:
		return "the connection is established"
	case f == Garbled && m == BeforeHeaders:
		return "there is no content yet"
	}
	return ""
}

// About says how far the answer has come.
func (m Moment) About() string {
	return map[Moment]string{
		BeforeHeaders: "nothing has been sent",
		AfterHeaders:  "status 200 and the headers have",
		BeforeContent: "so has all that comes before the first text: `message_start` and its like",
		Middle:        "so has half of the text",
		BeforeEnd:     "all but what says that the answer has ended: the event with the reason; of a body the last byte",
		AfterEnd:      "that too; what is missing is the protocol's terminator where it has one, and the end of the body",
	}[m]
}
