package telemetry

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/genway/genway/telemetry/instrument"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// defaultSpanQueue is OpenTelemetry's, of OTEL_BSP_MAX_QUEUE_SIZE.
const defaultSpanQueue = sdktrace.DefaultMaxQueueSize

// counted is a batch processor that counts what becomes of spans. The SDK drops spans without a word
// where its queue is full; here no more go to it than the queue holds, those of the delivery under way
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
