package ledger

import (
	"strconv"
	"strings"
	"time"
)

// Timeline is what a request went through. Times are since its Start.
type Timeline struct {
	// Admitted is when the key, the limits and the ledger had let it through, Settled when its
	// limits and its cost were booked.
	Admitted, Settled time.Duration
	// Limits is when the limits were asked, within the admission; Route is when the route and its
	// targets were chosen, after it. Both are zero where that did not happen, and in what older
	// versions wrote.
	Limits, Route Stage
	// Attempts are those at targets, in their order.
	Attempts []Attempt
}

// Stage is from Begin to End, which is 0 for a stage that was not reached.
type Stage struct{ Begin, End time.Duration }

// Attempt is one attempt at a target, with its retries. A time is 0 for what did not happen,
// or is not known.
type Attempt struct {
	// Upstream was asked for Model in Protocol, named as in Request.Protocol.
	Upstream, Protocol, Model string
	// Connected and Headers are when the last call had a connection, and the head of its
	// answer; FirstEvent is when the first bytes of a stream's content came, Released when they
	// were sent on.
	Begin, Connected, Headers, FirstEvent, Released, End time.Duration
	// Calls is how often the upstream was called, Status the last call's over HTTP.
	Calls  int64
	Status int
	// Kind and Reason describe the failure; empty for success. Message is what the upstream said of it, or the gateway: as the
	// caller would get it, without secrets and shortened.
	Kind, Reason, Message string
}

const (
	// MaxAttempts bounds the attempts of a timeline, and maxTimeline its bytes: a record of
	// the journal has room for it.
	MaxAttempts = 16
	maxTimeline = 8 << 10
	// timelineVersion begins the text.
	timelineVersion = '1'
	// same replaces the text that the entry has already.
	same = "="
)

// AppendTimeline writes a timeline of an entry as a text, which ParseTimeline reads. It is
// some 50 bytes for one attempt: numbers are microseconds to the base of 36, and empty for 0;
// what the entry itself says is written as "=". Of a stage it writes when it began and how long it
// took, of the route since the admission. Only an attempt that failed has a message. Readers of older versions pass over
// stages and messages.
func AppendTimeline(b []byte, t *Timeline, request *Request, result *Result) []byte {
	b = append(b, timelineVersion, ',')
	b = append(appendNumber(b, int64(t.Admitted/time.Microsecond)), ',')
	b = appendNumber(b, int64(t.Settled/time.Microsecond))
	if t.Limits.End > 0 || t.Route.End > 0 {
		b = appendStage(b, t.Limits, 0)
		b = appendStage(b, t.Route, t.Admitted)
	}
	for i := range t.Attempts {
		if i == MaxAttempts || len(b) > maxTimeline-2<<10 {
			break
		}
		a := &t.Attempts[i]
		for n, text := range a.texts(request, result) {
			b = append(b, ",|"[btoi(n == 0)])
			b = appendText(b, *text.is, text.known, maxAttemptText)
		}
		for _, at := range a.times() {
			b = appendNumber(append(b, ','), int64(*at/time.Microsecond))
		}
		b = appendNumber(append(b, ','), a.Calls)
		b = appendNumber(append(b, ','), int64(a.Status))
		if a.Message != "" {
			b = appendText(append(b, ','), a.Message, "", maxMessage)
		}
	}
	return b
}

// ParseTimeline reads an entry's timeline; false where it has none, or one that a later
// version wrote.
func ParseTimeline(e *Entry) (Timeline, bool) {
	parts := strings.Split(e.Timeline, "|")
	head := strings.Split(parts[0], ",")
	if len(head) < 3 || head[0] != string(timelineVersion) {
		return Timeline{}, false
	}
	t := Timeline{Admitted: micros(head[1]), Settled: micros(head[2])}
	if len(head) >= 7 {
		t.Limits, t.Route = stage(head[3], head[4], 0), stage(head[5], head[6], t.Admitted)
	}
	for _, part := range parts[1:] {
		var a Attempt
		texts, times := a.texts(&e.Request, &e.Result), a.times()
		fields := strings.Split(part, ",")
		if len(fields) < len(texts)+len(times)+2 {
			return Timeline{}, false
		}
		for i, text := range texts {
			*text.is = parseText(fields[i], text.known)
		}
		for i, at := range times {
			*at = micros(fields[len(texts)+i])
		}
		rest := fields[len(texts)+len(times):]
		a.Calls, a.Status = number(rest[0]), int(number(rest[1]))
		if len(rest) > 2 {
			a.Message = parseText(rest[2], "")
		}
		t.Attempts = append(t.Attempts, a)
	}
	return t, true
}

// known is a text, and what the entry says of it.
type known struct {
	is    *string
	known string
}

func (a *Attempt) texts(request *Request, result *Result) [5]known {
	return [...]known{
		{&a.Upstream, result.Upstream}, {&a.Protocol, result.UpstreamProtocol}, {&a.Model, request.Model},
		{&a.Kind, result.Kind}, {&a.Reason, result.Reason},
	}
}

func (a *Attempt) times() [6]*time.Duration {
	return [...]*time.Duration{&a.Begin, &a.Connected, &a.Headers, &a.FirstEvent, &a.Released, &a.End}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// base is the numbers' base.
const base = 36

func appendNumber(b []byte, n int64) []byte {
	if n <= 0 {
		return b
	}
	return strconv.AppendInt(b, n, base)
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, base, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// maxMicros is the longest that is read: what a Duration holds.
const maxMicros = int64(1<<63-1) / int64(time.Microsecond)

func micros(s string) time.Duration {
	return time.Duration(min(number(s), maxMicros)) * time.Microsecond
}

// appendStage writes when a stage began, since from, and how long it took.
func appendStage(b []byte, s Stage, from time.Duration) []byte {
	b = appendNumber(append(b, ','), int64((s.Begin-from)/time.Microsecond))
	return appendNumber(append(b, ','), int64((s.End-s.Begin)/time.Microsecond))
}

// stage reads one. One that took no time is none.
func stage(begin, took string, from time.Duration) Stage {
	lasted := micros(took)
	if lasted == 0 {
		return Stage{}
	}
	const longest = time.Duration(maxMicros) * time.Microsecond
	s := Stage{Begin: from + min(micros(begin), longest-from)}
	s.End = s.Begin + min(lasted, longest-s.Begin)
	return s
}

// maxAttemptText bounds a text of an attempt and maxMessage its message, in bytes.
const (
	maxAttemptText = 128
	maxMessage     = 240
)

// appendText writes a text, or that the entry has it. The bytes that have a meaning are
// written as %XX.
func appendText(b []byte, s, entrys string, most int) []byte {
	switch {
	case s == "":
		return b
	case s == entrys:
		return append(b, same...)
	case len(s) > most:
		s = s[:most]
	}
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		switch c := s[i]; {
		case c == ',' || c == '|' || c == '%' || c == '=' || c < 0x20 || c >= 0x7f:
			b = append(b, '%', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
	}
	return b
}

func parseText(s, entrys string) string {
	if s == same {
		return entrys
	}
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(c))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
