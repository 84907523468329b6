package instrument

// The metrics of the way out of spans, by semantic-conventions v1.41.0 (docs/otel/sdk-metrics.md).
var (
	spansProcessed = Definition{Name: "otel.sdk.processor.span.processed", Kind: Counter, Unit: "{span}", Side: OfBoth,
		Help: "Spans that went to the exporter, and with error.type those that were dropped: queue_full. None while traces are not exported.", Labels: []string{"error.type"}}
	spansExported = Definition{Name: "otel.sdk.exporter.span.exported", Kind: Counter, Unit: "{span}", Side: OfBoth,
		Help: "Spans that were delivered, and with error.type those of a delivery that failed or that was refused in part: timeout, or _OTHER. None while traces are not exported.", Labels: []string{"error.type"}}
)

// The values of error.type of spans.
const (
	SpanQueueFull  = "queue_full"
	SpansTimedOut  = "timeout"
	SpansOtherwise = "_OTHER"
	spansDelivered = ""
)

// Spans counts what becomes of spans that are to be exported. Its methods are safe for concurrent use;
// those of a nil Spans do nothing.
type Spans struct{ processed, exported *series[string, *counter] }

// NewSpans makes the counters. Without a registry it returns nil.
func NewSpans(r *Registry) *Spans {
	if r == nil {
		return nil
	}
	s := &Spans{r.words(spansProcessed), r.words(spansExported)}
	// A counter that has counted nothing is exported as 0, so that alerts see its first step.
	for _, failure := range [...]string{spansDelivered, SpanQueueFull} {
		s.processed.of(failure).add(0)
	}
	for _, failure := range [...]string{spansDelivered, SpansTimedOut, SpansOtherwise} {
		s.exported.of(failure).add(0)
	}
	return s
}

// Dropped counts a span that did not fit into the queue.
func (s *Spans) Dropped() {
	if s != nil {
		s.processed.of(SpanQueueFull).add(1)
	}
}

// Exported counts the spans of a delivery, with its error.type; empty for one that succeeded.
func (s *Spans) Exported(n int, failure string) {
	if s == nil {
		return
	}
	s.processed.of(spansDelivered).add(int64(n))
	s.exported.of(failure).add(int64(n))
}
