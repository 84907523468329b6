// Package wideline writes the one line of a request, which has some thirty fields, without
// an allocation for them.
//
// It must not import any package of core or gateway.
package wideline

import (
	"context"
	"log/slog"
	"sync"
	"time"
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
// slog's own do not: they are a group without a name, whose fields are written as those of the line.
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
