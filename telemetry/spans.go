package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/telemetry/instrument"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// defaultSpanQueue is OpenTelemetry's, of OTEL_BSP_MAX_QUEUE_SIZE.
const defaultSpanQueue = sdktrace.DefaultMaxQueueSize

// counted is a batch processor that counts what becomes of spans. The SDK drops spans without a word
// where its queue is full; here no more go to it than the queue holds, the delivery under way
// included.
type counted struct {
	sdktrace.SpanProcessor

	exporter sdktrace.SpanExporter
	count    *instrument.Spans
	most     int64
	waiting  atomic.Int64
}

// newCounted makes the processor of an exporter. most is how many spans may wait; 0 is the default.
func newCounted(exporter sdktrace.SpanExporter, most int, count *instrument.Spans) *counted {
	if most <= 0 {
		most = defaultSpanQueue
	}
	c := &counted{exporter: exporter, count: count, most: int64(most)}
	c.SpanProcessor = sdktrace.NewBatchSpanProcessor(delivery{c}, sdktrace.WithMaxQueueSize(most))
	return c
}

// OnEnd takes a span, or drops it.
func (c *counted) OnEnd(s sdktrace.ReadOnlySpan) {
	if c.waiting.Add(1) > c.most {
		c.waiting.Add(-1)
		c.count.Dropped()
		return
	}
	c.SpanProcessor.OnEnd(s)
}

// delivery is the exporter as the batch processor has it.
type delivery struct{ of *counted }

// ExportSpans delivers spans, which are gone afterwards, however it ends.
func (d delivery) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := d.of.exporter.ExportSpans(ctx, spans)
	failure := ""
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		failure = instrument.SpansTimedOut
	case err != nil:
		failure = instrument.SpansOtherwise
	}
	d.of.count.Exported(len(spans), failure)
	d.of.waiting.Add(-int64(len(spans)))
	return err
}

// Shutdown ends the exporter.
func (d delivery) Shutdown(ctx context.Context) error { return d.of.exporter.Shutdown(ctx) }

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
