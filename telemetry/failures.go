package telemetry

import (
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// repeatAfter is how long a failure to deliver telemetry is not logged again.
	repeatAfter = 30 * time.Second
	// maxSignals bounds how many kinds of failures are logged separately, in case the SDK has more texts.
	maxSignals = 16
	// maxFailureText bounds the text of one in bytes: it may have the body of a collector's answer.
	maxFailureText = 500
)

// failures logs what could not be delivered. A collector that refuses every delivery would cause a
// line for each, so that each signal has one line in half a minute, with the latest failure.
type failures struct {
	log *slog.Logger

	mu    sync.Mutex
	known map[string]*failed // by the beginning of the text, which names the signal
}

// failed is a failure that was logged, and how often it came since.
type failed struct {
	at    time.Time
	times int
}

func newFailures(log *slog.Logger) *failures {
	return &failures{log: log, known: map[string]*failed{}}
}

// Handle logs an error, unless one of its signal was logged a short while ago.
func (f *failures) Handle(err error) {
	text := err.Error()
	signal, _, _ := strings.Cut(text, ":")
	times, due := f.count(signal, time.Now())
	if !due {
		return
	}
	if len(text) > maxFailureText {
		text = strings.ToValidUTF8(text[:maxFailureText], "") + "…"
	}
	f.log.Warn("telemetry cannot be delivered", "error", text, "times", times)
}

// count counts a failure, and returns how often it came since it was logged last, if it is to be logged.
func (f *failures) count(signal string, now time.Time) (times int, due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.known[signal]
	if one == nil {
		if len(f.known) == maxSignals {
			return 0, false
		}
		f.known[signal] = &failed{at: now}
		return 1, true
	}
	one.times++
	if now.Sub(one.at) < repeatAfter {
		return 0, false
	}
	times = one.times
	one.at, one.times = now, 0
	return times, true
}
