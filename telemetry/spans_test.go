package telemetry

import (
	"context"
	"errors"
	"testing"

	"github.com/genway/genway/telemetry/instrument"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// collector takes spans as the test has it: each delivery waits for an answer.
type collector struct {
	began   chan int
	answers chan error
}

func (c collector) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	c.began <- len(spans)
	return <-c.answers
}

func (collector) Shutdown(context.Context) error { return nil }

// What becomes of each span is counted: it is delivered, its delivery fails, or it is dropped while the
// queue is full.
func TestSpansAreCounted(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	c := collector{make(chan int), make(chan error)}
	registry := instrument.NewRegistry()
	processor := newCounted(c, 8, instrument.NewSpans(registry))
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor))
	end := func(n int) {
		for range n {
			_, span := provider.Tracer("test").Start(t.Context(), "s", trace.WithNewRoot())
			span.End()
		}
	}
	end(1)
	first := <-c.began
	end(100) // of which 7 fit beside the one that is under way
	ended := make(chan error, 1)
	go func() { ended <- provider.Shutdown(t.Context()) }()
	c.answers <- nil
	for n, answer := first, context.DeadlineExceeded; n < 8; answer = errors.New("no") {
		n += <-c.began
		c.answers <- answer
	}
	if err := <-ended; err != nil {
		t.Log(err) // of the deliveries that failed
	}
	got := map[string]int64{}
	for _, m := range registry.Collect() {
		for _, s := range m.Sums {
			failure, _ := s.Set.Value("error.type")
			got[m.Name+" "+failure.AsString()] = s.N
		}
	}
	const processed, exported = "otel.sdk.processor.span.processed ", "otel.sdk.exporter.span.exported "
	if got[processed] != 8 || got[processed+"queue_full"] != 93 || got[exported] != 1 || got[exported+"timeout"]+got[exported+"_OTHER"] != 7 || got[exported+"timeout"] == 0 {
		t.Errorf("counted %v of 101 spans", got)
	}
	if left := processor.waiting.Load(); left != 0 || first != 1 {
		t.Errorf("%d spans are counted as waiting at the end, and the first delivery had %d", left, first)
	}
}
