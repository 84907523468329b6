package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/genway/genway/telemetry/wideline"
)

// Log says how a server logs.
type Log struct {
	Level  slog.Level `name:"log-level" env:"GENWAY_LOG_LEVEL" default:"info" placeholder:"LEVEL" help:"Lowest level that is logged: debug, info, warn or error."`
	Format string     `name:"log-format" env:"GENWAY_LOG_FORMAT" enum:"text,json" default:"text" help:"Format of the log on standard error: text or json."`
}

// Logger gives the log, on standard error, and what must be called at the end so that
// its last lines are written. A log that cannot be written holds up no request and ends no process
// (decision 71): from now on SIGPIPE, which a pipe without a reader sends, does nothing.
func (l Log) Logger() (*slog.Logger, func()) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return l.LoggerTo(os.Stderr)
}

// LoggerTo is Logger with a log that is written to out.
func (l Log) LoggerTo(out io.Writer) (*slog.Logger, func()) {
	encoding := wideline.Text
	if l.Format == "json" {
		encoding = wideline.JSON
	}
	lines := newLines(out)
	lines.lostLine = func(lost int64) []byte {
		var line bytes.Buffer
		slog.New(l.handler(&line)).Error("lines of the log are lost, since it could not be written; find out what reads it, or whether its disk is full", "lines", lost)
		return line.Bytes()
	}
	return slog.New(prompt{l.handler(lines), lines, l.Level, encoding}), lines.flush
}

// handler gives slog's handler of the format.
func (l Log) handler(out io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: l.Level}
	if l.Format == "json" {
		return slog.NewJSONHandler(out, options)
	}
	return slog.NewTextHandler(out, options)
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

// LinesLost gives what counts the lines of a log that could not be written; nil for a log of another
// handler than Logger's.
func LinesLost(log *slog.Logger) func() int64 {
	if h, ok := log.Handler().(prompt); ok {
		return h.lines.missing
	}
	return nil
}

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
