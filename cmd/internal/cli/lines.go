package cli

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/genway/genway/telemetry/wideline"
)

const (
	// flushEvery is how late a line may reach the log.
	flushEvery = 50 * time.Millisecond
	// flushAt is how many bytes are written without waiting for that.
	flushAt = 32 << 10
)

// lines gathers the lines of a log and writes them together: one system call for the
// requests of a moment, not two for each.
type lines struct {
	out io.Writer

	mu    sync.Mutex // of what gathers
	buf   []byte
	timer *time.Timer
	armed bool

	writing sync.Mutex // keeps what is written in order; taken ahead of mu
	spare   []byte
}

func newLines(out io.Writer) *lines {
	w := &lines{out: out}
	w.timer = time.AfterFunc(flushEvery, w.flush)
	w.timer.Stop()
	return w
}

// Write takes lines to be written soon. It waits only while the log cannot be written
// and much has gathered.
func (w *lines) Write(b []byte) (int, error) {
	w.mu.Lock()
	w.buf = append(w.buf, b...)
	full := len(w.buf) >= flushAt
	if !w.armed {
		w.armed = true
		w.timer.Reset(flushEvery)
	}
	w.mu.Unlock()
	if full {
		w.flush()
	}
	return len(b), nil
}

// flush writes what has gathered.
func (w *lines) flush() {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	gathered := w.buf
	w.buf, w.armed = w.spare[:0], false
	w.mu.Unlock()
	if len(gathered) > 0 {
		// A log that cannot be written can be reported nowhere.
		_, _ = w.out.Write(gathered)
	}
	w.spare = gathered
}

// prompt is a handler that has warnings and errors written at once: what follows them
// may be the end of the process.
type prompt struct {
	slog.Handler
	lines *lines
	level slog.Level
	// encoding is that of the lines of requests; None for a handler with fields of its own.
	encoding wideline.Encoding
}

// Enabled says what the handler would say, without asking through its options.
func (h prompt) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Encoding is that of the lines of requests.
func (h prompt) Encoding() wideline.Encoding { return h.encoding }

// WriteLine takes the line of a request.
func (h prompt) WriteLine(level slog.Level, line []byte) {
	_, _ = h.lines.Write(line) // it never fails
	if level >= slog.LevelWarn {
		h.lines.flush()
	}
}

func (h prompt) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.lines.flush()
	}
	return err
}

func (h prompt) WithAttrs(attrs []slog.Attr) slog.Handler {
	return prompt{h.Handler.WithAttrs(attrs), h.lines, h.level, wideline.None}
}

func (h prompt) WithGroup(name string) slog.Handler {
	return prompt{h.Handler.WithGroup(name), h.lines, h.level, wideline.None}
}
