package telemetry

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/telemetry/instrument"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"
)

// collected returns the metrics of one collection by name.
func collected(t rapid.TB, reader sdkmetric.Reader) map[string]metricdata.Aggregation {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	metrics := map[string]metricdata.Aggregation{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			metrics[m.Name] = m.Data
		}
	}
	return metrics
}

// only returns the one point of a histogram; the zero value if there is none.
func only(t rapid.TB, data metricdata.Aggregation) metricdata.HistogramDataPoint[float64] {
	t.Helper()
	if data == nil {
		return metricdata.HistogramDataPoint[float64]{}
	}
	h, ok := data.(metricdata.Histogram[float64])
	if !ok || len(h.DataPoints) > 1 {
		t.Fatalf("no histogram of one series: %+v", data)
	}
	if len(h.DataPoints) == 0 {
		return metricdata.HistogramDataPoint[float64]{}
	}
	return h.DataPoints[0]
}

// Whatever is recorded and whenever it is collected, a histogram of the registry says what a
// histogram of the SDK says, of cumulative and of delta temporality.
func TestProducerAgreesWithSDK(t *testing.T) {
	bounds := instrument.Definitions()[slices.IndexFunc(instrument.Definitions(), func(d instrument.Definition) bool { return d.Name == "rpc.client.call.duration" })].Bounds
	rapid.Check(t, func(t *rapid.T) {
		temporality := rapid.SampledFrom([]metricdata.Temporality{metricdata.CumulativeTemporality, metricdata.DeltaTemporality}).Draw(t, "temporality")
		selector := func(sdkmetric.InstrumentKind) metricdata.Temporality { return temporality }
		registry := instrument.NewRegistry()
		edge := instrument.NewEdge(registry)
		reader := sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(selector), sdkmetric.WithProducer(newProducer(registry, selector)))
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
		theirs, err := provider.Meter("test").Float64Histogram("theirs", metric.WithExplicitBucketBoundaries(bounds...))
		if err != nil {
			t.Fatal(err)
		}
		size := 0.0 // of all values: a delta is the difference of two sums of them
		for range rapid.IntRange(1, 4).Draw(t, "collections") {
			for range rapid.IntRange(0, 20).Draw(t, "values") {
				took := time.Duration(rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, -1, 1, int64(5 * time.Millisecond), int64(300 * time.Second), math.MaxInt64})).Draw(t, "took"))
				edge.CalledRPC(trace.SpanContext{}, "m", "OK", took)
				theirs.Record(t.Context(), took.Seconds())
				size += math.Abs(took.Seconds())
			}
			all := collected(t, reader)
			got, want := only(t, all["rpc.client.call.duration"]), only(t, all["theirs"])
			if !slices.Equal(got.BucketCounts, want.BucketCounts) || got.Count != want.Count || math.Abs(got.Sum-want.Sum) > 1e-12*(1+size) || !slices.Equal(got.Bounds, want.Bounds) {
				t.Fatalf("got  %+v\nwant %+v", got, want)
			}
		}
	})
}

// A counter of delta temporality has what was added since the last collection, and none where
// nothing was; a gauge-like sum falls as well.
func TestProducerDelta(t *testing.T) {
	delta := func(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }
	registry := instrument.NewRegistry()
	core := instrument.NewCore(registry, instrument.Names{Newest: true})
	reader := sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(delta), sdkmetric.WithProducer(newProducer(registry, delta)))
	sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	value := func(name string) []int64 {
		var values []int64
		if sum, ok := collected(t, reader)[name].(metricdata.Sum[int64]); ok {
			for _, p := range sum.DataPoints {
				values = append(values, p.Value)
			}
		}
		return values
	}
	if got := value("genway.ledger_entries_set_aside"); !slices.Equal(got, []int64{0}) {
		t.Errorf("before anything was counted: %v, want one 0", got)
	}
	core.SetAside()
	core.SetAside()
	if got := value("genway.ledger_entries_set_aside"); !slices.Equal(got, []int64{2}) {
		t.Errorf("after two: %v", got)
	}
	if got := value("genway.ledger_entries_set_aside"); len(got) > 0 {
		t.Errorf("after nothing: %v", got)
	}
	active := core.Begun("chat")
	if got := value("genway.requests.active"); !slices.Equal(got, []int64{1}) {
		t.Errorf("one in flight: %v", got)
	}
	active.Ended()
	if got := value("genway.requests.active"); !slices.Equal(got, []int64{-1}) {
		t.Errorf("none in flight: %v", got)
	}
}

// No recording is lost while others record and readers collect, and the cost has no rounding
// of nano-dollars.
func TestRegistryConcurrently(t *testing.T) {
	const recorders, each = 8, 500
	registry := instrument.NewRegistry()
	core := instrument.NewCore(registry, instrument.Names{Newest: true})
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(newProducer(registry, cumulative)))
	sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	var recording sync.WaitGroup
	for range recorders {
		recording.Go(func() {
			for range each {
				core.Settled(trace.SpanContext{}, instrument.Settlement{Protocol: "chat", Route: "r", Upstream: "u", Outcome: "ok", Duration: 250 * time.Millisecond, Cost: 1})
			}
		})
	}
	for range 10 {
		point := only(t, collected(t, reader)["genway.request.duration"])
		var n uint64
		for _, c := range point.BucketCounts {
			n += c
		}
		if n != point.Count {
			t.Errorf("%d in the buckets, %d in all", n, point.Count)
		}
	}
	recording.Wait()
	all := collected(t, reader)
	if point := only(t, all["genway.request.duration"]); point.Count != recorders*each || point.Sum != recorders*each*0.25 {
		t.Errorf("%d of %v s, want %d", point.Count, point.Sum, recorders*each)
	}
	if cost, ok := all["genway.cost_dollars"].(metricdata.Sum[float64]); !ok || cost.DataPoints[0].Value != float64(recorders*each)/1e9 {
		t.Errorf("cost: %+v", all["genway.cost_dollars"])
	}
}

// The example of a bucket comes from a sampled request, and a newer one replaces it once a reader
// has it.
func TestExamples(t *testing.T) {
	registry := instrument.NewRegistry()
	edge := instrument.NewEdge(registry)
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(newProducer(registry, cumulative)))
	sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	record := func(n byte, flags trace.TraceFlags, took time.Duration) {
		edge.CalledRPC(trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{n}, SpanID: trace.SpanID{n}, TraceFlags: flags}), "m", "OK", took)
	}
	traces := func() []byte {
		var ids []byte
		for _, e := range only(t, collected(t, reader)["rpc.client.call.duration"]).Exemplars {
			ids = append(ids, e.TraceID[0])
		}
		return ids
	}
	record(1, 0, time.Second)
	if got := traces(); len(got) > 0 {
		t.Errorf("an unsampled request is an example: %v", got)
	}
	record(2, trace.FlagsSampled, time.Second)
	record(3, trace.FlagsSampled, time.Second)
	record(4, trace.FlagsSampled, time.Millisecond)
	if got := traces(); !slices.Equal(got, []byte{4, 2}) {
		t.Errorf("the first of each bucket: %v, want 4 and 2", got)
	}
	record(5, trace.FlagsSampled, time.Second)
	record(6, 0, time.Second)
	if got := traces(); !slices.Equal(got, []byte{4, 5}) {
		t.Errorf("after a collection: %v, want 4 and 5", got)
	}
}
