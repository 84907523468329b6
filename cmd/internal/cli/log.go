package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/genway/genway/telemetry/wideline"
	"google.golang.org/grpc/grpclog"
)

// Log says how a server logs.
type Log struct {
	Level  slog.Level `name:"log-level" env:"GENWAY_LOG_LEVEL" default:"info" placeholder:"LEVEL" group:"Logs, metrics, traces:" help:"Lowest level that is logged: debug, info, warn or error."`
	Format string     `name:"log-format" env:"GENWAY_LOG_FORMAT" enum:"text,json" default:"text" group:"Logs, metrics, traces:" help:"Format of the log on standard error: text or json."`
}

// Logger returns the log, on standard error, and what must be called at the end so that
// its last lines are written. A log that cannot be written holds up no request and ends no process:
// from now on SIGPIPE, which a pipe without a reader sends, does nothing.
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

// handler returns slog's handler of the format.
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
	// encoding is the format of the lines of requests; None for a handler with fields of its own.
	encoding wideline.Encoding
}

// Enabled says what the handler would say, without asking through its options.
func (h prompt) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Encoding is the format of the lines of requests.
func (h prompt) Encoding() wideline.Encoding { return h.encoding }

// LinesLost returns what counts the lines of a log that could not be written; nil for a log of another
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

const (
	// flushEvery is how late a line may reach the log.
	flushEvery = 50 * time.Millisecond
	// flushAt is how many bytes are written without waiting for that.
	flushAt = 32 << 10
	// maxGathered bounds what waits for a log that takes lines more slowly than they come, in
	// bytes. Lines that do not fit are lost, and counted.
	maxGathered = 8 << 20
	// flushTimeout is how long a warning and the end of a process wait for the log.
	flushTimeout = time.Second
)

// lines gathers the lines of a log and writes them together: one system call for the
// requests of a moment, not two for each. A goroutine of its own writes them, since a write into a full
// pipe blocks.
type lines struct {
	out io.Writer
	// lostLine returns a line about so many lost ones.
	lostLine func(lost int64) []byte

	mu    sync.Mutex
	buf   []byte
	spare []byte
	timer *time.Timer
	armed bool // the timer runs, or its goroutine is about to write
	// busy says that a goroutine writes, since when it has waited for the log.
	busy  bool
	since time.Time
	// taken and written count the bytes of lines that came and that were written or lost; changed is
	// closed and replaced when written grows. waiting is how many wait for that.
	taken, written uint64
	changed        chan struct{}
	waiting        int
	// lost counts the lines that could not be written, and reported how many of them a line of the log has
	// reported. torn means that the log ends within a line.
	lost, reported int64
	torn           bool
}

func newLines(out io.Writer) *lines {
	w := &lines{out: out, changed: make(chan struct{})}
	w.timer = time.AfterFunc(flushEvery, w.write)
	w.timer.Stop()
	return w
}

// Write takes lines to be written soon, without keys, which callers may have put into a path or a model's name. It never
// waits for the log.
func (w *lines) Write(b []byte) (int, error) {
	n := len(b)
	if bytes.Contains(b, keyPrefix) {
		b = keyInLine.ReplaceAll(b, []byte("gwk_"+redacted))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.buf)+len(b) > maxGathered {
		w.lost += count(b)
		return n, nil
	}
	before := len(w.buf)
	w.buf = append(w.buf, b...)
	w.taken += uint64(len(b))
	switch {
	case before < flushAt && len(w.buf) >= flushAt:
		w.arm(0)
	case !w.armed:
		w.arm(flushEvery)
	}
	return n, nil
}

// arm has what has gathered written after a time. The caller holds mu.
func (w *lines) arm(after time.Duration) {
	w.armed = true
	w.timer.Reset(after)
}

// write writes what has gathered, unless another goroutine is at it, which then comes back to it.
func (w *lines) write() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy {
		return
	}
	w.busy = true
	for again := len(w.buf) > 0; again; again = len(w.buf) >= flushAt || len(w.buf) > 0 && w.waiting > 0 {
		w.put()
	}
	w.busy = false
	if w.armed = len(w.buf) > 0; w.armed {
		w.arm(flushEvery)
	}
}

// put writes what has gathered. The caller holds mu, which put releases while it writes.
func (w *lines) put() {
	gathered, torn := w.buf, w.torn
	w.buf, w.spare, w.armed, w.since = w.spare[:0], nil, false, time.Now()
	w.mu.Unlock()
	if torn {
		_, err := w.out.Write([]byte{'\n'})
		torn = err != nil
	}
	n, err := w.out.Write(gathered)
	w.mu.Lock()
	w.torn = torn
	if n > 0 {
		w.torn = gathered[n-1] != '\n'
	}
	w.lost += count(gathered[n:])
	if err == nil && w.lost > w.reported {
		line := w.lostLine(w.lost - w.reported)
		w.buf, w.reported = append(w.buf, line...), w.lost
		w.taken += uint64(len(line))
	}
	if w.written += uint64(len(gathered)); cap(gathered) <= 4*flushAt {
		w.spare = gathered
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// flush has what has gathered written, and waits for it. It does not wait for a log that has taken
// nothing for flushTimeout.
func (w *lines) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	target := w.taken
	if w.written >= target || w.busy && time.Since(w.since) >= flushTimeout {
		return
	}
	w.waiting++
	defer func() { w.waiting-- }()
	if !w.busy {
		w.arm(0)
	}
	late := time.NewTimer(flushTimeout)
	defer late.Stop()
	for w.written < target {
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
			w.mu.Lock()
		case <-late.C:
			w.mu.Lock()
			return
		}
	}
}

// missing is how many lines are lost.
func (w *lines) missing() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// count returns the number of lines.
func count(b []byte) int64 { return int64(bytes.Count(b, []byte{'\n'})) }

// maxMessage bounds one message of a library in the log, in bytes.
const maxMessage = 1024

// grpcLog writes the messages of grpc-go and of the gateway's runtime to the log of the
// program. Their errors are warnings here, since the program goes on. Their warnings are for
// debugging: strangers can cause them at will, by malformed frames. Messages about
// single connections are left out.
type grpcLog struct{ log *slog.Logger }

// UseForGRPC has the messages of grpc-go and of the gateway's runtime written to the log. It
// must be called before there are connections. Where GRPC_GO_LOG_SEVERITY_LEVEL is set,
// grpc-go keeps its own logger.
func UseForGRPC(log *slog.Logger) {
	if os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL") == "" {
		grpclog.SetLoggerV2(grpcLog{log})
	}
}

func (g grpcLog) say(level slog.Level, text string) {
	ctx := context.Background()
	if text = strings.TrimSpace(text); len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	g.log.Log(ctx, level, "grpc", "message", text)
}

// debug says so if anybody reads it.
func (g grpcLog) debug(text func() string) {
	if g.log.Enabled(context.Background(), slog.LevelDebug) {
		g.say(slog.LevelDebug, text())
	}
}

func (g grpcLog) Info(...any)          {}
func (g grpcLog) Infoln(...any)        {}
func (g grpcLog) Infof(string, ...any) {}

func (g grpcLog) Warning(args ...any)   { g.debug(func() string { return fmt.Sprint(args...) }) }
func (g grpcLog) Warningln(args ...any) { g.debug(func() string { return fmt.Sprintln(args...) }) }
func (g grpcLog) Warningf(format string, args ...any) {
	g.debug(func() string { return fmt.Sprintf(format, args...) })
}

func (g grpcLog) Error(args ...any)   { g.say(slog.LevelWarn, fmt.Sprint(args...)) }
func (g grpcLog) Errorln(args ...any) { g.say(slog.LevelWarn, fmt.Sprintln(args...)) }
func (g grpcLog) Errorf(format string, args ...any) {
	g.say(slog.LevelWarn, fmt.Sprintf(format, args...))
}

// fatal ends the program, as grpc-go demands of its loggers.
func (g grpcLog) fatal(text string) {
	g.say(slog.LevelError, text)
	os.Exit(1)
}

func (g grpcLog) Fatal(args ...any)                 { g.fatal(fmt.Sprint(args...)) }
func (g grpcLog) Fatalln(args ...any)               { g.fatal(fmt.Sprintln(args...)) }
func (g grpcLog) Fatalf(format string, args ...any) { g.fatal(fmt.Sprintf(format, args...)) }

// V reports whether grpc-go logs verbosely. It does not.
func (g grpcLog) V(int) bool { return false }
