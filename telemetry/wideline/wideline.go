// Package wideline writes the one line of a request, which has some thirty fields, without
// an allocation for them.
//
// It must not import any package of core or gateway.
package wideline

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"
)

// Handler is a handler whose lines a Line writes by itself, in less time than slog does.
type Handler interface {
	// Encoding is the format of the lines. None leaves them to Handle.
	Encoding() Encoding
	// WriteLine takes a line, which ends with a newline. It must not keep it.
	WriteLine(level slog.Level, line []byte)
}

// Line is the line of one request in the making. Its methods append a field each. The names of
// fields must be plain words.
type Line struct {
	handler  slog.Handler
	encoding Encoding
	level    slog.Level
	at       time.Time
	message  string
	text     []byte
	fields   []slog.Attr // of a handler that writes the line itself
}

var spare = sync.Pool{New: func() any { return &Line{text: make([]byte, 0, 1024)} }}

// most bounds the text that is kept for other lines, in bytes.
const most = 8 << 10

// New begins a line. The caller has asked whether the handler is enabled for the level. A
// Logger, which would look for the line of the program first, is not asked.
func New(handler slog.Handler, at time.Time, level slog.Level, message string) *Line {
	l, ok := spare.Get().(*Line)
	if !ok {
		l = new(Line)
	}
	l.handler, l.level, l.at, l.message, l.encoding = handler, level, at, message, None
	if own, ok := handler.(Handler); ok {
		if l.encoding = own.Encoding(); l.encoding != None {
			l.begin()
		}
	}
	return l
}

// Write writes the line, which must not be used afterwards. A handler must not keep its fields, as
// slog's own do not: they are a group without a name, whose fields are written as the line's.
func (l *Line) Write(ctx context.Context) {
	if own, ok := l.handler.(Handler); ok && l.encoding != None {
		l.end()
		own.WriteLine(l.level, l.text)
	} else {
		record := slog.NewRecord(l.at, l.level, l.message, 0)
		record.AddAttrs(slog.Attr{Value: slog.GroupValue(l.fields...)})
		_ = l.handler.Handle(ctx, record) // an error of the log cannot be reported anywhere
		clear(l.fields)
	}
	if cap(l.text) > most {
		return
	}
	l.handler, l.message, l.text, l.fields = nil, "", l.text[:0], l.fields[:0]
	spare.Put(l)
}

// second is a second of a location as lines have it: 2006-01-02T15:04:05, and what follows the
// fraction, Z or the offset from UTC. Lines come many a second, so that the last one is kept.
type second struct {
	unix       int64
	in         *time.Location
	date, zone string
}

var latest atomic.Pointer[second]

func secondOf(t time.Time) *second {
	s := latest.Load()
	if s != nil && s.unix == t.Unix() && s.in == t.Location() {
		return s
	}
	s = &second{t.Unix(), t.Location(), t.Format("2006-01-02T15:04:05"), t.Format("Z07:00")}
	latest.Store(s)
	return s
}

// appendTime appends a time as slog's handlers write it: text has milliseconds, JSON has
// nanoseconds without zeros at the end.
func (e Encoding) appendTime(b []byte, t time.Time) []byte {
	s := secondOf(t)
	b = append(b, s.date...)
	if e == JSON {
		b = appendFraction(b, t.Nanosecond(), 9, true)
	} else {
		b = appendFraction(b, t.Nanosecond()/1e6, 3, false)
	}
	return append(b, s.zone...)
}

// appendFraction appends a point and the number n of so many digits. Trimmed, it has no
// zeros at its end, and is nothing for 0.
func appendFraction(b []byte, n, digits int, trimmed bool) []byte {
	if trimmed {
		if n == 0 {
			return b
		}
		for ; n%10 == 0; n /= 10 {
			digits--
		}
	}
	b = append(b, ".000000000"[:1+digits]...)
	for i := len(b) - 1; n > 0; i-- {
		b[i] += byte(n % 10)
		n /= 10
	}
	return b
}

// Encoding is a format of lines, as slog's handlers without options write them: the time, the level,
// the message and the fields, in this order.
type Encoding int

// The encodings. None leaves all lines to the handler.
const (
	None Encoding = iota
	Text
	JSON
)

// begin writes what comes before the fields.
func (l *Line) begin() {
	b := l.text[:0]
	if l.encoding == JSON {
		b = append(b, `{"time":"`...)
		b = append(l.encoding.appendTime(b, l.at), `","level":"`...)
		b = append(append(b, l.level.String()...), `","msg":`...)
	} else {
		b = append(b, "time="...)
		b = append(l.encoding.appendTime(b, l.at), " level="...)
		b = append(append(b, l.level.String()...), " msg="...)
	}
	l.text = l.encoding.appendText(b, l.message)
}

func (l *Line) end() {
	if l.encoding == JSON {
		l.text = append(l.text, '}')
	}
	l.text = append(l.text, '\n')
}

func (e Encoding) appendName(b []byte, name string) []byte {
	if e == JSON {
		return append(append(append(b, ',', '"'), name...), '"', ':')
	}
	return append(append(append(b, ' '), name...), '=')
}

// Text appends a text.
func (l *Line) Text(name, value string) {
	if l.encoding == None {
		l.fields = append(l.fields, slog.String(name, value))
		return
	}
	l.text = l.encoding.appendText(l.encoding.appendName(l.text, name), value)
}

// Int appends a whole number.
func (l *Line) Int(name string, n int64) {
	if l.encoding == None {
		l.fields = append(l.fields, slog.Int64(name, n))
		return
	}
	l.text = strconv.AppendInt(l.encoding.appendName(l.text, name), n, 10)
}

// Float appends a number, which must be finite.
func (l *Line) Float(name string, v float64) {
	if l.encoding == None {
		l.fields = append(l.fields, slog.Float64(name, v))
		return
	}
	l.text = l.encoding.appendFloat(l.encoding.appendName(l.text, name), v)
}

// Seconds appends a duration in seconds, to the microsecond.
func (l *Line) Seconds(name string, d time.Duration) {
	us := d.Microseconds()
	switch {
	case l.encoding == None || us < 0 || us >= 1e12: // the text of these may have an exponent above 0
		l.Float(name, float64(us)/1e6)
	case l.encoding == Text && us > 0 && us < 100:
		l.text = appendSmall(l.encoding.appendName(l.text, name), us)
	default:
		b := strconv.AppendInt(l.encoding.appendName(l.text, name), us/1e6, 10)
		l.text = appendFraction(b, int(us%1e6), 6, true)
	}
}

// appendSmall appends 1 to 99 microseconds in seconds, as 9.5e-05 or 5e-06.
func appendSmall(b []byte, us int64) []byte {
	if us < 10 {
		return append(b, '0'+byte(us), 'e', '-', '0', '6')
	}
	b = append(b, '0'+byte(us/10))
	if us%10 > 0 {
		b = append(b, '.', '0'+byte(us%10))
	}
	return append(b, "e-05"...)
}

func (e Encoding) appendFloat(b []byte, v float64) []byte {
	if e == Text {
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	if size := math.Abs(v); size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}

// plain holds the bytes that need no escape in a JSON string.
var plain = func() (all [256]bool) {
	for c := ' '; c <= '~'; c++ {
		all[c] = c != '"' && c != '\\'
	}
	return all
}()

func (e Encoding) appendText(b []byte, s string) []byte {
	if e == Text {
		if quoted(s) {
			return strconv.AppendQuote(b, s)
		}
		return append(b, s...)
	}
	b = append(b, '"')
	for i := range len(s) {
		if !plain[s[i]] {
			return appendEscaped(b[:len(b)-1], s)
		}
	}
	return append(append(b, s...), '"')
}

// appendEscaped appends a text with the escapes of slog's handler, which is asked to write it.
func appendEscaped(b []byte, s string) []byte {
	const before, after = `{"level":"INFO","msg":`, "}\n"
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, timeless)).Info(s)
	return append(b, out.Bytes()[len(before):out.Len()-len(after)]...)
}

var timeless = &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}}

// quoted reports whether slog quotes a text in a line of text.
func quoted(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c <= ' ' || c == '"' || c == '=' {
				return true
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return true
		}
		i += size
	}
	return s == ""
}
