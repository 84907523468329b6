package instrument

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
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
	names                                           Names
	duration, first, chunk                          metric.Float64Histogram
	input, output, cacheRead, cacheWrite, reasoning metric.Int64Counter
	operationInput, operationOutput                 metric.Float64Histogram

	olderDuration, olderFirst, olderChunk, olderUsage metric.Float64Histogram

	series *series[Inference, *inferenceSeries]
	ended  *series[endedInference, recording]
}

type endedInference struct {
	Inference
	kind string
}

// inferenceSeries are the attribute sets of one target.
type inferenceSeries struct {
	plain                       recording
	text, image, audio, unknown adding
	olderInput, olderOutput     recording
}

func newGenAI(f *factory, names Names) *genAI {
	g := &genAI{names: names}
	if names.Newest {
		g.duration, g.first, g.chunk = f.histogram(inferenceDuration), f.histogram(inferenceFirst), f.histogram(inferenceChunk)
		g.input, g.output = f.counter(usageInput), f.counter(usageOutput)
		g.cacheRead, g.cacheWrite, g.reasoning = f.counter(usageCacheRead), f.counter(usageCacheWrite), f.counter(usageReasoning)
		g.operationInput, g.operationOutput = f.histogram(operationInput), f.histogram(operationOutput)
	}
	if names.Older {
		g.olderDuration, g.olderFirst, g.olderChunk, g.olderUsage = f.histogram(olderDuration), f.histogram(olderFirst), f.histogram(olderChunk), f.histogram(olderUsage)
	}
	g.series = newSeries(func(i Inference) *inferenceSeries {
		modality := func(m string) adding { return adds(i.attributes(attribute.String("gen_ai.token.modality", m))...) }
		older := func(t string) recording { return records(i.attributes(attribute.String("gen_ai.token.type", t))...) }
		return &inferenceSeries{
			plain: records(i.attributes()...), text: modality("text"), image: modality("image"), audio: modality("audio"), unknown: modality("unknown"),
			olderInput: older("input"), olderOutput: older("output"),
		}
	})
	g.ended = newSeries(func(i endedInference) recording {
		return records(i.attributes(attribute.String("error.type", i.kind))...)
	})
	return g
}

// Chunks records the chunks of one streamed answer. The zero value records nothing.
type Chunks struct {
	genAI *genAI
	to    *inferenceSeries
	begun time.Time
	last  time.Time
}

// Chunk records that a chunk came at now, and gives how long after the beginning the first
// one came.
func (c *Chunks) Chunk(ctx context.Context, now time.Time) {
	if c.genAI == nil {
		return
	}
	first := c.last.IsZero()
	since := now.Sub(c.last).Seconds()
	if first {
		since = now.Sub(c.begun).Seconds()
	}
	c.last = now
	if g := c.genAI; g.names.Newest {
		if first {
			g.first.Record(ctx, since, c.to.plain...)
		} else {
			g.chunk.Record(ctx, since, c.to.plain...)
		}
	}
	if g := c.genAI; g.names.Older {
		if first {
			g.olderFirst.Record(ctx, since, c.to.plain...)
		} else {
			g.olderChunk.Record(ctx, since, c.to.plain...)
		}
	}
}

// end records the end of an operation. kind is that of its failure; empty for none.
func (g *genAI) end(ctx context.Context, i Inference, kind string, took time.Duration) {
	to := g.ended.of(endedInference{i, kind})
	if g.names.Newest {
		g.duration.Record(ctx, took.Seconds(), to...)
	}
	if g.names.Older {
		g.olderDuration.Record(ctx, took.Seconds(), to...)
	}
}

// used records the tokens of an operation: the counters those of all, the histograms those of
// operations that did not fail (gen-ai-token-metrics.md). Without any figure of the upstream
// the convention wants a 0 of unknown modality.
func (g *genAI) used(ctx context.Context, i Inference, n Counts, failed bool) {
	to := g.series.of(i)
	if g.names.Older && !failed {
		g.olderUsage.Record(ctx, float64(n.Input), to.olderInput...)
		g.olderUsage.Record(ctx, float64(n.Output), to.olderOutput...)
	}
	if !g.names.Newest {
		return
	}
	if n == (Counts{}) {
		g.input.Add(ctx, 0, to.unknown...)
		g.output.Add(ctx, 0, to.unknown...)
		return
	}
	split(ctx, g.input, to, n.Input, n.InputImage, n.InputAudio)
	split(ctx, g.output, to, n.Output, n.OutputImage, n.OutputAudio)
	for _, part := range [...]struct {
		counter metric.Int64Counter
		n       int64
	}{{g.cacheRead, n.CacheRead}, {g.cacheWrite, n.CacheWrite}, {g.reasoning, n.Reasoning}} {
		if part.n > 0 {
			part.counter.Add(ctx, part.n, to.text...)
		}
	}
	if !failed {
		g.operationInput.Record(ctx, float64(n.Input), to.plain...)
		g.operationOutput.Record(ctx, float64(n.Output), to.plain...)
	}
}

func split(ctx context.Context, c metric.Int64Counter, to *inferenceSeries, all, image, audio int64) {
	if image > 0 {
		c.Add(ctx, image, to.image...)
	}
	if audio > 0 {
		c.Add(ctx, audio, to.audio...)
	}
	if text := all - image - audio; text > 0 || all == 0 {
		c.Add(ctx, max(text, 0), to.text...)
	}
}
