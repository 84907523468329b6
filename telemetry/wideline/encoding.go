package wideline

import (
	"log/slog"
	"math"
	"strconv"
	"time"
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

// Append appends a line to b as slog's handler writes it, in a tenth of its time. It reports
// false for a line that it leaves to the handler: one with a text that needs escapes, or with a
// value that is neither a text nor a number. The names of fields must be plain words.
func (e Encoding) Append(b []byte, line slog.Record, fields []slog.Attr) ([]byte, bool) {
	switch e {
	case Text:
		return appendText(b, line, fields)
	case JSON:
		return appendJSON(b, line, fields)
	case None:
	}
	return b, false
}

func appendText(b []byte, line slog.Record, fields []slog.Attr) ([]byte, bool) {
	if !bare(line.Message) {
		return b, false
	}
	b = append(b, "time="...)
	b = line.Time.AppendFormat(b, "2006-01-02T15:04:05.000Z07:00")
	b = append(append(b, " level="...), line.Level.String()...)
	b = append(append(b, " msg="...), line.Message...)
	for i := range fields {
		f := &fields[i]
		b = append(append(append(b, ' '), f.Key...), '=')
		switch f.Value.Kind() { // the others are left to the handler
		case slog.KindString:
			switch text := f.Value.String(); {
			case text == "":
				b = append(b, `""`...)
			case bare(text):
				b = append(b, text...)
			default:
				return b, false
			}
		case slog.KindInt64:
			b = strconv.AppendInt(b, f.Value.Int64(), 10)
		case slog.KindFloat64:
			b = strconv.AppendFloat(b, f.Value.Float64(), 'g', -1, 64)
		default:
			return b, false
		}
	}
	return append(b, '\n'), true
}

func appendJSON(b []byte, line slog.Record, fields []slog.Attr) ([]byte, bool) {
	if !plain(line.Message) {
		return b, false
	}
	b = append(b, `{"time":"`...)
	b = line.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(append(b, `","level":"`...), line.Level.String()...)
	b = append(append(append(b, `","msg":"`...), line.Message...), '"')
	for i := range fields {
		f := &fields[i]
		b = append(append(append(b, `,"`...), f.Key...), `":`...)
		switch f.Value.Kind() { // the others are left to the handler
		case slog.KindString:
			text := f.Value.String()
			if !plain(text) {
				return b, false
			}
			b = append(append(append(b, '"'), text...), '"')
		case slog.KindInt64:
			b = strconv.AppendInt(b, f.Value.Int64(), 10)
		case slog.KindFloat64:
			v := f.Value.Float64()
			if size := math.Abs(v); size != 0 && !(size >= 1e-6 && size < 1e21) {
				return b, false // JSON has no infinity, and encoding/json writes these with an exponent
			}
			b = strconv.AppendFloat(b, v, 'f', -1, 64)
		default:
			return b, false
		}
	}
	return append(b, "}\n"...), true
}

// bare reports whether a text stands in a line of text without quotes. It may say no of one
// that does.
func bare(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '=' {
			return false
		}
	}
	return s != ""
}

// plain reports whether a text stands in JSON as it is. It may say no of one that does.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
