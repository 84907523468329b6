package telemetry

import (
	"context"
	"time"

	"github.com/genway/genway/telemetry/instrument"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// producer returns the counters and histograms of a registry to one reader of the SDK, which
// calls Produce for one collection at a time.
type producer struct {
	registry    *instrument.Registry
	temporality sdkmetric.TemporalitySelector
	// since is when the last collection was, and before what it exported of the metrics of
	// delta temporality.
	since  time.Time
	before map[series]exported
}

// series is one series of a metric.
type series struct {
	name string
	set  attribute.Distinct
}

// exported is what was exported of a series.
type exported struct {
	n      int64
	counts []uint64
	total  float64
}

func newProducer(r *instrument.Registry, temporality sdkmetric.TemporalitySelector) *producer {
	return &producer{registry: r, temporality: temporality, since: r.Begun(), before: map[series]exported{}}
}

// cumulative is the temporality of all metrics for Prometheus.
func cumulative(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

// Produce collects all metrics.
func (p *producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	now := time.Now()
	all := p.registry.Collect()
	metrics := make([]metricdata.Metrics, 0, len(all))
	for i := range all {
		m := &all[i]
		var data metricdata.Aggregation
		switch {
		case m.Kind == instrument.Histogram:
			data = p.histogram(m, now)
		case m.Steps != 0:
			data = sums(p, m, now, func(n int64) float64 { return float64(n) / m.Steps })
		default:
			data = sums(p, m, now, func(n int64) int64 { return n })
		}
		metrics = append(metrics, metricdata.Metrics{Name: m.Name, Description: m.Help, Unit: m.Unit, Data: data})
	}
	p.since = now
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: scope}, Metrics: metrics}}, nil
}

// from is the beginning of the interval that a collection is about.
func (p *producer) from(t metricdata.Temporality) time.Time {
	if t == metricdata.DeltaTemporality {
		return p.since
	}
	return p.registry.Begun()
}

// sums returns a counter or an up-down counter. Of delta temporality it leaves out the series
// that nothing was added to.
func sums[N int64 | float64](p *producer, m *instrument.Metric, now time.Time, unit func(int64) N) metricdata.Sum[N] {
	kind := sdkmetric.InstrumentKindCounter
	if m.Kind == instrument.UpDown {
		kind = sdkmetric.InstrumentKindUpDownCounter
	}
	all := metricdata.Sum[N]{Temporality: p.temporality(kind), IsMonotonic: m.Kind == instrument.Counter}
	for _, s := range m.Sums {
		n := s.N
		if all.Temporality == metricdata.DeltaTemporality {
			key := series{m.Name, s.Set.Equivalent()}
			before, known := p.before[key]
			if known && before.n == n {
				continue
			}
			p.before[key] = exported{n: n}
			n -= before.n
		}
		all.DataPoints = append(all.DataPoints, metricdata.DataPoint[N]{Attributes: s.Set, StartTime: p.from(all.Temporality), Time: now, Value: unit(n)})
	}
	return all
}

// histogram returns a histogram. Of delta temporality it leaves out the series that nothing was
// recorded to. The count is the sum of the buckets, so that they agree while others record.
func (p *producer) histogram(m *instrument.Metric, now time.Time) metricdata.Histogram[float64] {
	all := metricdata.Histogram[float64]{Temporality: p.temporality(sdkmetric.InstrumentKindHistogram)}
	for _, d := range m.Distributions {
		point := metricdata.HistogramDataPoint[float64]{
			Attributes: d.Set, StartTime: p.from(all.Temporality), Time: now, Bounds: m.Bounds, BucketCounts: d.Counts, Sum: d.Total,
		}
		if all.Temporality == metricdata.DeltaTemporality {
			point.BucketCounts, point.Sum = p.less(series{m.Name, d.Set.Equivalent()}, d)
		}
		for _, n := range point.BucketCounts {
			point.Count += n
		}
		if point.Count == 0 {
			continue
		}
		for _, e := range d.Examples {
			point.Exemplars = append(point.Exemplars, metricdata.Exemplar[float64]{Time: e.At, Value: e.Value, TraceID: e.TraceID[:], SpanID: e.SpanID[:]})
		}
		all.DataPoints = append(all.DataPoints, point)
	}
	return all
}

// less returns what was recorded to a series since the last collection.
func (p *producer) less(key series, d instrument.Distribution) (counts []uint64, total float64) {
	before := p.before[key]
	p.before[key] = exported{counts: d.Counts, total: d.Total}
	if before.counts == nil {
		return d.Counts, d.Total
	}
	counts = make([]uint64, len(d.Counts))
	for i, n := range d.Counts {
		counts[i] = n - before.counts[i]
	}
	return counts, d.Total - before.total
}
