// Package wideline writes the one line of a request, which has some thirty fields, without
// an allocation for them.
//
// It must not import any package of core or gateway.
package wideline

import (
	"context"
	"log/slog"
	"sync"
)

// most is more fields than a line has.
const most = 48

var spare = sync.Pool{New: func() any { return new([most]slog.Attr) }}

// Take gives an empty slice for the fields of one line, which Write takes back.
func Take() []slog.Attr {
	all, ok := spare.Get().(*[most]slog.Attr)
	if !ok {
		return nil
	}
	return all[:0]
}

// Handler is a handler that may write a line itself, in less time than by slog's. It reports
// false for a line that it leaves to Handle.
type Handler interface {
	WriteLine(line slog.Record, fields []slog.Attr) bool
}

// Write writes the line with the fields, which may be reused afterwards. A handler must not
// keep them, as slog's own do not: they are a group without a name, whose fields are written
// as those of the line. A Logger, which would look for the line of the program first, is not
// asked.
func Write(ctx context.Context, handler slog.Handler, line slog.Record, fields []slog.Attr) {
	if fast, ok := handler.(Handler); !ok || !fast.WriteLine(line, fields) {
		line.AddAttrs(slog.Attr{Value: slog.GroupValue(fields...)})
		_ = handler.Handle(ctx, line) // an error of the log cannot be reported anywhere
	}
	clear(fields)
	if cap(fields) == most {
		spare.Put((*[most]slog.Attr)(fields[:most]))
	}
}
