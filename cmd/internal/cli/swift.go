package cli

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// swift is a handler that writes what slog's own would, byte for byte. Lines of plain
// attributes, as those of requests are, it writes itself, straight into the log's buffer:
// there are two a request, and slog takes twice as long. All others are slog's.
type swift struct {
	slog.Handler
	lines *lines
	json  bool
}

// Handle writes a line.
func (h swift) Handle(ctx context.Context, r slog.Record) error {
	if h.lines.add(func(w *lines) bool { return w.appendRecord(&r, h.json) }) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// appendRecord adds a line to what gathers, or nothing when it is not plain. The caller
// holds mu.
func (w *lines) appendRecord(r *slog.Record, json bool) bool {
	if r.Time.IsZero() {
		return false
	}
	l := line{text: w.buf, json: json, plain: true}
	if json {
		l.text = r.Time.AppendFormat(append(l.text, `{"time":"`...), time.RFC3339Nano)
		l.text = append(append(l.text, `","level":"`...), r.Level.String()...)
		l.text = append(l.text, `","msg":`...)
	} else {
		l.text = w.stamp.append(append(l.text, "time="...), r.Time)
		l.text = append(append(l.text, " level="...), r.Level.String()...)
		l.text = append(l.text, " msg="...)
	}
	l.string(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		l.attr(a)
		return l.plain
	})
	if !l.plain {
		w.buf = l.text[:len(w.buf)] // perhaps in a larger array
		return false
	}
	if json {
		l.text = append(l.text, '}')
	}
	l.text = append(l.text, '\n')
	w.buf = l.text
	return true
}

// line is a line in the making.
type line struct {
	text  []byte
	json  bool
	plain bool // so far
}

func (l *line) attr(a slog.Attr) {
	if l.json {
		l.text = append(l.text, ',')
		l.string(a.Key)
		l.text = append(l.text, ':')
	} else {
		l.text = append(l.text, ' ')
		l.string(a.Key)
		l.text = append(l.text, '=')
	}
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		l.string(v.String())
	case slog.KindInt64:
		l.text = strconv.AppendInt(l.text, v.Int64(), 10)
	case slog.KindFloat64:
		l.float(v.Float64())
	case slog.KindBool:
		l.text = strconv.AppendBool(l.text, v.Bool())
	case slog.KindDuration:
		if l.json {
			l.text = strconv.AppendInt(l.text, int64(v.Duration()), 10)
		} else {
			l.text = append(l.text, v.Duration().String()...)
		}
	default:
		l.plain = false
	}
}

// float writes what encoding/json does where that is not in exponents.
func (l *line) float(f float64) {
	size := math.Abs(f)
	switch {
	case !l.json:
		l.text = strconv.AppendFloat(l.text, f, 'g', -1, 64)
	case size == 0 || size >= 1e-6 && size < 1e21:
		l.text = strconv.AppendFloat(l.text, f, 'f', -1, 64)
	default: // NaN and the infinite among them
		l.plain = false
	}
}

func (l *line) string(s string) {
	found := bytesIn(s)
	switch {
	case l.json:
		l.plain = l.plain && found&(control|quote|slash|foreign) == 0
		l.text = append(l.text, '"')
		l.text = append(l.text, s...)
		l.text = append(l.text, '"')
	case found&(control|quote|gap) != 0 || s == "":
		l.text = strconv.AppendQuote(l.text, s)
	default:
		l.plain = l.plain && found&foreign == 0 // which of these are quoted is unicode's business
		l.text = append(l.text, s...)
	}
}

// Kinds of bytes that bear on whether a text stands in a line as it is.
const (
	control byte = 1 << iota
	gap          // what text separates by: a space, =
	quote        // "
	slash        // the backslash, which only JSON escapes
	foreign      // not ASCII
)

var kinds = func() (kinds [256]byte) {
	for c := range kinds {
		switch {
		case c < ' ':
			kinds[c] = control
		case c == ' ' || c == '=':
			kinds[c] = gap
		case c == '"':
			kinds[c] = quote
		case c == '\\':
			kinds[c] = slash
		case c >= utf8.RuneSelf:
			kinds[c] = foreign
		}
	}
	return kinds
}()

func bytesIn(s string) (found byte) {
	for i := range len(s) {
		found |= kinds[s[i]]
	}
	return found
}

// stamp spells times in milliseconds. Most are within the second of the one before.
type stamp struct {
	second int64
	zone   *time.Location
	head   []byte // 2006-01-02T15:04:05
	tail   []byte // Z or +01:00
}

func (s *stamp) append(b []byte, t time.Time) []byte {
	if second := t.Unix(); second != s.second || t.Location() != s.zone || len(s.head) == 0 {
		s.second, s.zone = second, t.Location()
		s.head = t.AppendFormat(s.head[:0], "2006-01-02T15:04:05")
		s.tail = t.AppendFormat(s.tail[:0], "Z07:00")
	}
	ms := t.Nanosecond() / int(time.Millisecond)
	b = append(append(b, s.head...), '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
	return append(b, s.tail...)
}
