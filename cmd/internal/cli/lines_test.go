package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/telemetry/wideline"
)

// safeBuffer may be read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Lines of a moment are written together, in order; a warning writes all at once; what
// is left is written by the end.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out safeBuffer
		log, end := Log{}.LoggerTo(&out)
		written := func() int { return strings.Count(out.String(), "\n") }
		log.Info("one")
		log.Info("two")
		if written() != 0 {
			t.Errorf("written at once: %q", out.String())
		}
		time.Sleep(flushEvery) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		if written() != 2 || !strings.Contains(out.String(), "msg=one\n") {
			t.Errorf("after a while: %q", out.String())
		}
		log.Info("three")
		log.With("a", 1).WithGroup("g").Warn("four")
		if written() != 4 {
			t.Errorf("with a warning: %q", out.String())
		}
		log.Info("five")
		end()
		if written() != 5 {
			t.Errorf("at the end: %q", out.String())
		}
		if got := out.String(); strings.Index(got, "three") > strings.Index(got, "four") {
			t.Errorf("out of order: %q", got)
		}
	})
}

// A burst is written before its time, and not by those that log.
func TestLinesOfABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out safeBuffer
		w := newLines(&out)
		begun := time.Now()
		for range 2 * flushAt / 100 {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 100)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := len(out.String()); n < flushAt || time.Since(begun) > 0 {
			t.Errorf("%d bytes written after %s", n, time.Since(begun))
		}
		w.flush()
	})
}

// Both formats are what slog makes of them.
func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{"text": "level=WARN msg=hello", "json": `"level":"WARN","msg":"hello"`} {
		var out bytes.Buffer
		log, end := Log{Format: format, Level: slog.LevelInfo}.LoggerTo(&out)
		log.Debug("unseen")
		log.Warn("hello")
		end()
		if got := out.String(); !strings.Contains(got, want) || strings.Contains(got, "unseen") {
			t.Errorf("%s: %s", format, got)
		}
	}
}

// The line of a request is the one that slog writes, also of a logger with fields of its own,
// and of a grave failure it is written at once.
func TestLineOfARequest(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		for name, with := range map[string]func(*slog.Logger) slog.Handler{
			"plain": func(l *slog.Logger) slog.Handler { return l.Handler() },
			"with":  func(l *slog.Logger) slog.Handler { return l.With("a", 1).Handler() },
			"group": func(l *slog.Logger) slog.Handler { return l.WithGroup("g").Handler() },
		} {
			for _, value := range []string{"v", "", `needs "escapes" = é`} {
				var got, want safeBuffer
				line := slog.NewRecord(time.Now(), slog.LevelWarn, "call", 0)
				log, end := Log{Format: format}.LoggerTo(&got)
				of := wideline.New(with(log), line.Time, line.Level, line.Message)
				of.Text("k", value)
				of.Int("n", 7)
				of.Write(t.Context())
				if !strings.HasSuffix(got.String(), "\n") {
					t.Errorf("%s, %s: not written at once", format, name)
				}
				end()
				var slogs slog.Handler = slog.NewTextHandler(&want, nil)
				if format == "json" {
					slogs = slog.NewJSONHandler(&want, nil)
				}
				line.Add("k", value, "n", 7)
				if err := with(slog.New(slogs)).Handle(t.Context(), line); err != nil {
					t.Fatal(err)
				}
				if got.String() != want.String() {
					t.Errorf("%s, %s: got %q, want %q", format, name, got.String(), want.String())
				}
			}
		}
	}
}

// A key that a caller has put in another place, such as a path or a model's name, is in no line, whole or in part.
func TestLinesHaveNoKeys(t *testing.T) {
	const key = "gwk_0123456789abcdefghijABCDEFGHIJ012345"
	for _, format := range []string{"text", "json"} {
		var out safeBuffer
		log, end := Log{Format: format}.LoggerTo(&out)
		log.Info("request", "path", "/v1beta/models/"+key+":generateContent", "model", key+key)
		log.With("cut", "/v1/"+key[:20]).WithGroup("g").Warn(key, "error", errors.New(`no model "`+key+`"`))
		log.Handler().(prompt).WriteLine(slog.LevelInfo, []byte("path=/v1/"+key+"?\n"))
		log.Info("a key of this server begins with gwk_ and has 40 characters", "id", "key_abcabcabcabc")
		end()
		got := out.String()
		if strings.Contains(got, key[4:10]) || strings.Count(got, "gwk_[REDACTED]") != 6 || strings.Count(got, "\n") != 4 || !strings.Contains(got, "gwk_ and has") || !strings.Contains(got, "key_abcabcabcabc") {
			t.Errorf("%s: %s", format, got)
		}
	}
}
