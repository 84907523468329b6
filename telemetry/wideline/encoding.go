package wideline

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// Encoding is a format of lines, those of slog's handlers without options: the time, the level,
// the message and the fields, in this order.
type Encoding int

// The encodings. None leaves all lines to the handler.
const (
	None Encoding = iota
	Text
	JSON
)

// begin writes what stands before the fields.
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
