package instrument

import (
	"time"

	"go.opentelemetry.io/otel/trace"
)

type attemptKey struct {
	Inference
	kind string
}

// attemptSeries are what an attempt records; inference is nil for an operation without GenAI metrics.
type attemptSeries struct {
	count, fallbacks *counter
	duration         durations
	inference        *inferenceSeries
}

// Attempt is one attempt of a request at a target.
type Attempt struct {
	Inference
	// Kind is that of the failure; empty for success.
	Kind     string
	Duration time.Duration
	Counts   Counts
	// Followed says that another attempt followed because of this one's failure.
	Followed bool
}

// Chunks returns what records the chunks of a streamed answer that was asked for at begun.
func (c *Core) Chunks(i Inference, begun time.Time) Chunks {
	if c == nil {
		return Chunks{}
	}
	return Chunks{to: c.genAI.of(i), begun: begun}
}

// Attempted counts an attempt at its end.
func (c *Core) Attempted(span trace.SpanContext, a Attempt) {
	if c == nil {
		return
	}
	to := c.attempts.of(attemptKey{a.Inference, a.Kind})
	to.count.add(1)
	if a.Followed {
		to.fallbacks.add(1)
	}
	if to.inference == nil {
		return
	}
	to.duration.record(a.Duration, span)
	to.inference.used(span, a.Counts, a.Kind != "")
}
