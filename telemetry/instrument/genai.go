package instrument

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// The GenAI metrics. Input tokens include cached ones, output tokens include reasoning.
var (
	inferenceDuration = Definition{Name: "gen_ai.client.inference.duration", Kind: Histogram, Unit: "s", Bounds: operationBounds, Side: OfCore,
		Help: "Duration of a request at one target, retries at it included.", Labels: inferenceLabels}
	inferenceFirst = Definition{Name: "gen_ai.client.inference.time_to_first_chunk", Kind: Histogram, Unit: "s", Bounds: firstChunkBounds, Side: OfCore,
		Help: "Time from the request to the first chunk of a streamed answer.", Labels: operationLabels}
	inferenceChunk = Definition{Name: "gen_ai.client.inference.time_per_output_chunk", Kind: Histogram, Unit: "s", Bounds: chunkBounds, Side: OfCore,
		Help: "Time between two chunks of a streamed answer.", Labels: operationLabels}
	usageInput = Definition{Name: "gen_ai.client.inference.usage.input_tokens", Kind: Counter, Unit: "{token}", Side: OfCore,
		Help: "Input tokens, cached ones included.", Labels: modalityLabels}
	usageOutput = Definition{Name: "gen_ai.client.inference.usage.output_tokens", Kind: Counter, Unit: "{token}", Side: OfCore,
		Help: "Output tokens, reasoning included.", Labels: modalityLabels}
	usageCacheRead = Definition{Name: "gen_ai.client.inference.usage.cache_read.input_tokens", Kind: Counter, Unit: "{token}", Side: OfCore,
		Help: "Input tokens that the provider read from its cache.", Labels: modalityLabels}
	usageCacheWrite = Definition{Name: "gen_ai.client.inference.usage.cache_write.input_tokens", Kind: Counter, Unit: "{token}", Side: OfCore,
		Help: "Input tokens that the provider wrote to its cache.", Labels: modalityLabels}
	usageReasoning = Definition{Name: "gen_ai.client.inference.usage.reasoning.output_tokens", Kind: Counter, Unit: "{token}", Side: OfCore,
		Help: "Output tokens used for reasoning.", Labels: modalityLabels}
	operationInput = Definition{Name: "gen_ai.client.inference.operation.input_tokens", Kind: Histogram, Unit: "{token}", Bounds: tokenBounds, Side: OfCore,
		Help: "Input tokens of each operation.", Labels: operationLabels}
	operationOutput = Definition{Name: "gen_ai.client.inference.operation.output_tokens", Kind: Histogram, Unit: "{token}", Bounds: tokenBounds, Side: OfCore,
		Help: "Output tokens of each operation.", Labels: operationLabels}

	olderDuration = Definition{Name: "gen_ai.client.operation.duration", Kind: Histogram, Unit: "s", Bounds: operationBounds, Side: OfCore, Older: true,
		Help: "GenAI operation duration.", Labels: inferenceLabels}
	olderFirst = Definition{Name: "gen_ai.client.operation.time_to_first_chunk", Kind: Histogram, Unit: "s", Bounds: firstChunkBounds, Side: OfCore, Older: true,
		Help: "Time to receive the first chunk.", Labels: operationLabels}
	olderChunk = Definition{Name: "gen_ai.client.operation.time_per_output_chunk", Kind: Histogram, Unit: "s", Bounds: chunkBounds, Side: OfCore, Older: true,
		Help: "Time between two chunks.", Labels: operationLabels}
	olderUsage = Definition{Name: "gen_ai.client.token.usage", Kind: Histogram, Unit: "{token}", Bounds: tokenBounds, Side: OfCore, Older: true,
		Help: "Number of input and output tokens used.", Labels: append([]string{"gen_ai.token.type"}, operationLabels...)}

	operationLabels = []string{"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "route", "upstream"}
	inferenceLabels = append([]string{"error.type"}, operationLabels...)
	modalityLabels  = append([]string{"gen_ai.token.modality"}, operationLabels...)
)

// Inference is what the labels of the GenAI metrics are made of. All values are the
// configuration's or words of closed lists.
type Inference struct {
	// Operation is chat, generate_content or count_tokens.
	Operation string
	// Provider is the convention's name for the upstream's protocol.
	Provider string
	// Model is the model that the configuration names, or the pattern of the route where it
	// leaves the name to callers.
	Model string
	// Route is the pattern of the route, Upstream the upstream's name.
	Route, Upstream string
}

func (i Inference) attributes(more ...attribute.KeyValue) []attribute.KeyValue {
	return append(more, attribute.String("gen_ai.operation.name", i.Operation), attribute.String("gen_ai.provider.name", i.Provider),
		attribute.String("gen_ai.request.model", i.Model), attribute.String("route", i.Route), attribute.String("upstream", i.Upstream))
}

// Counts are tokens by class and modality. Cached and reasoning tokens are parts of input
// and output.
type Counts struct {
	Input, InputImage, InputAudio    int64
	Output, OutputImage, OutputAudio int64
	CacheRead, CacheWrite, Reasoning int64
}

// genAI are the instruments of one set of names or of both.
type genAI struct {
	targets *series[Inference, *inferenceSeries]
	family  func(Definition) *family
}

// durations are the durations of one target and kind of failure.
type durations struct{ newest, older *histogram }

func (d durations) record(took time.Duration, span trace.SpanContext) {
	d.newest.record(took.Seconds(), span)
	d.older.record(took.Seconds(), span)
}

// inferenceSeries are the series of one target. Those of names that are not recorded are nil.
type inferenceSeries struct {
	first, chunk, olderFirst, olderChunk *histogram
	input, output                        modalities
	cacheRead, cacheWrite, reasoning     *counter
	operationInput, operationOutput      *histogram
	olderInput, olderOutput              *histogram
}

// modalities are the series of a counter of tokens by modality.
type modalities struct{ text, image, audio, unknown *counter }

func newGenAI(r *Registry, names Names) *genAI {
	of := func(d Definition) *family {
		if d.Older && !names.Older || !d.Older && !names.Newest {
			return nil
		}
		return r.family(d)
	}
	return &genAI{
		family: of,
		targets: newSeries(func(i Inference) *inferenceSeries {
			counter := func(d Definition, modality string) *counter {
				return of(d).counter(i.attributes(attribute.String("gen_ai.token.modality", modality))...)
			}
			tokens := func(d Definition) modalities {
				return modalities{counter(d, "text"), counter(d, "image"), counter(d, "audio"), counter(d, "unknown")}
			}
			plain := func(d Definition) *histogram { return of(d).histogram(i.attributes()...) }
			older := func(t string) *histogram {
				return of(olderUsage).histogram(i.attributes(attribute.String("gen_ai.token.type", t))...)
			}
			return &inferenceSeries{
				first: plain(inferenceFirst), chunk: plain(inferenceChunk), olderFirst: plain(olderFirst), olderChunk: plain(olderChunk),
				input: tokens(usageInput), output: tokens(usageOutput),
				cacheRead: counter(usageCacheRead, "text"), cacheWrite: counter(usageCacheWrite, "text"), reasoning: counter(usageReasoning, "text"),
				operationInput: plain(operationInput), operationOutput: plain(operationOutput), olderInput: older("input"), olderOutput: older("output"),
			}
		}),
	}
}

// ended returns the durations of operations that end with a kind of failure; empty for none.
func (g *genAI) ended(i Inference, kind string) durations {
	of := func(d Definition) *histogram {
		return g.family(d).histogram(i.attributes(attribute.String("error.type", kind))...)
	}
	return durations{of(inferenceDuration), of(olderDuration)}
}

func (g *genAI) of(i Inference) *inferenceSeries { return g.targets.of(i) }

// Chunks records the chunks of one streamed answer. The zero value records nothing.
type Chunks struct {
	to    *inferenceSeries
	begun time.Time
	last  time.Time
}

// Chunk records that a chunk came at now: how long after the one before, or of the first how
// long after the beginning.
func (c *Chunks) Chunk(span trace.SpanContext, now time.Time) {
	if c.to == nil {
		return
	}
	if c.last.IsZero() {
		since := now.Sub(c.begun).Seconds()
		c.to.first.record(since, span)
		c.to.olderFirst.record(since, span)
	} else {
		since := now.Sub(c.last).Seconds()
		c.to.chunk.record(since, span)
		c.to.olderChunk.record(since, span)
	}
	c.last = now
}

// used records the tokens of an operation: the counters the tokens of all, the histograms the tokens of
// operations that did not fail (gen-ai-token-metrics.md). Without any figure of the upstream
// the convention wants a 0 of unknown modality.
func (to *inferenceSeries) used(span trace.SpanContext, n Counts, failed bool) {
	if !failed {
		to.olderInput.record(float64(n.Input), span)
		to.olderOutput.record(float64(n.Output), span)
	}
	if n == (Counts{}) {
		to.input.unknown.add(0)
		to.output.unknown.add(0)
		return
	}
	to.input.add(n.Input, n.InputImage, n.InputAudio)
	to.output.add(n.Output, n.OutputImage, n.OutputAudio)
	for _, part := range [...]struct {
		counter *counter
		n       int64
	}{{to.cacheRead, n.CacheRead}, {to.cacheWrite, n.CacheWrite}, {to.reasoning, n.Reasoning}} {
		if part.n > 0 {
			part.counter.add(part.n)
		}
	}
	if !failed {
		to.operationInput.record(float64(n.Input), span)
		to.operationOutput.record(float64(n.Output), span)
	}
}

// add counts tokens; tokens of neither images nor audio are text.
func (m *modalities) add(all, image, audio int64) {
	if image > 0 {
		m.image.add(image)
	}
	if audio > 0 {
		m.audio.add(audio)
	}
	if text := all - image - audio; text > 0 || all == 0 {
		m.text.add(max(text, 0))
	}
}

// The metrics of the way out of spans, by semantic-conventions v1.41.0 (docs/otel/sdk-metrics.md).
var (
	spansProcessed = Definition{Name: "otel.sdk.processor.span.processed", Kind: Counter, Unit: "{span}", Side: OfBoth,
		Help: "Spans that went to the exporter, and with error.type those that were dropped: queue_full. None while traces are not exported.", Labels: []string{"error.type"}}
	spansExported = Definition{Name: "otel.sdk.exporter.span.exported", Kind: Counter, Unit: "{span}", Side: OfBoth,
		Help: "Spans that were delivered, and with error.type spans whose delivery failed or was refused in part: timeout, or _OTHER. None while traces are not exported.", Labels: []string{"error.type"}}
)

// The values of error.type of spans.
const (
	SpanQueueFull  = "queue_full"
	SpansTimedOut  = "timeout"
	SpansOtherwise = "_OTHER"
	spansDelivered = ""
)

// Spans counts what becomes of spans that are to be exported. Its methods are safe for concurrent use;
// the methods of a nil Spans do nothing.
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
