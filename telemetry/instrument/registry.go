package instrument

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Registry holds the counters and histograms of a process; package telemetry hands them to the
// readers of the OpenTelemetry SDK. A recording is one or two atomic additions, because the instrument
// of each attribute set is resolved before it is recorded to; the SDK's own instruments check
// and look up the attribute set in each call (decision 39).
type Registry struct {
	start time.Time

	mu       sync.Mutex
	families []*family
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry { return &Registry{start: time.Now()} }

// family is a metric with all its series.
type family struct {
	Definition

	mu         sync.Mutex
	counters   bySet[*counter]
	histograms bySet[*histogram]
}

// bySet are the series of a metric by their attribute sets, in the order of their first use.
type bySet[T any] struct {
	index map[attribute.Distinct]T
	all   []T
}

// family returns the metric of a definition. An edge and a core of one process share metrics.
func (r *Registry) family(d Definition) *family {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.families {
		if f.Name == d.Name {
			return f
		}
	}
	f := &family{Definition: d}
	r.families = append(r.families, f)
	return f
}

// counter returns the series of the attributes; nil, which counts nothing, for no metric.
func (f *family) counter(attributes ...attribute.KeyValue) *counter {
	if f == nil {
		return nil
	}
	set := setOf(attributes)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counters.of(set, func() *counter { return &counter{set: set} })
}

// histogram returns the series of the attributes; nil, which records nothing, for no metric.
func (f *family) histogram(attributes ...attribute.KeyValue) *histogram {
	if f == nil {
		return nil
	}
	set := setOf(attributes)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.histograms.of(set, func() *histogram { return newHistogram(set, f.Bounds) })
}

func (b *bySet[T]) of(set attribute.Set, newOne func() T) T {
	key := set.Equivalent()
	if one, ok := b.index[key]; ok {
		return one
	}
	one := newOne()
	if b.index == nil {
		b.index = map[attribute.Distinct]T{}
	}
	b.index[key] = one
	b.all = append(b.all, one)
	return one
}

// setOf returns the attribute set without empty texts: a label that does not apply is left out.
func setOf(attributes []attribute.KeyValue) attribute.Set {
	kept := attributes[:0]
	for _, a := range attributes {
		if a.Value.Type() != attribute.STRING || a.Value.AsString() != "" {
			kept = append(kept, a)
		}
	}
	return attribute.NewSet(kept...)
}

// Kind is the kind of an instrument.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	UpDown    Kind = "up-down counter"
	Histogram Kind = "histogram"
)

// Side is the program that records a metric.
type Side string

// The sides. Both is a metric of either program.
const (
	OfCore Side = "core"
	OfEdge Side = "edge"
	OfBoth Side = "both"
)

// Definition describes a metric.
type Definition struct {
	// Name is the OpenTelemetry name. Prometheus has it with underscores and the suffixes
	// of its unit and kind.
	Name string
	Kind Kind
	// Unit is a UCUM unit: s, By, 1, or an annotation such as {token}; empty is none.
	Unit string
	Help string
	// Labels are the names of the attributes. A metric may leave out those that do not
	// apply.
	Labels []string
	// Bounds are the upper bounds of a histogram's buckets.
	Bounds []float64
	Side   Side
	// Steps is how many steps of a counter are one unit; 0 counts whole units.
	Steps float64
	// Older says that the metric belongs to the older set of GenAI names.
	Older bool
}

// Buckets. The durations of GenAI operations are those that the convention advises
// (client-inference.md): they double from 10 ms to 82 s.
var (
	operationBounds  = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	firstChunkBounds = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	chunkBounds      = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5}
	tokenBounds      = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	// httpBounds are the bounds of http.server.request.duration, with larger ones for answers of
	// models, which take minutes.
	httpBounds = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300}
	// ownBounds begin at 50 µs: the gateway's own time is a tenth of a millisecond on an
	// idle machine.
	ownBounds = []float64{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5}
)

// gauges makes observable instruments of definitions and keeps the first error.
type gauges struct {
	meter metric.Meter
	err   error
}

func (g *gauges) of(d Definition) metric.Float64ObservableGauge {
	gauge, err := g.meter.Float64ObservableGauge(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Help))
	g.keep(d, err)
	return gauge
}

func (g *gauges) counter(d Definition) metric.Int64ObservableCounter {
	counter, err := g.meter.Int64ObservableCounter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Help))
	g.keep(d, err)
	return counter
}

func (g *gauges) keep(d Definition, err error) {
	if err != nil && g.err == nil {
		g.err = fmt.Errorf("instrument %s: %w", d.Name, err)
	}
}

// counter is one series of a counter or an up-down counter. It is not exported before the
// first add, which may be of 0. A nil counter counts nothing.
type counter struct {
	set  attribute.Set
	n    atomic.Int64
	seen atomic.Bool
}

func (c *counter) add(n int64) {
	if c == nil {
		return
	}
	c.n.Add(n)
	if !c.seen.Load() {
		c.seen.Store(true)
	}
}

// histogram is one series of a histogram with explicit bounds. A nil histogram records nothing.
type histogram struct {
	set    attribute.Set
	bounds []float64
	// counts has one element for each bound, for values up to it, and one for larger values.
	counts   []atomic.Uint64
	sum      atomic.Uint64 // the bits of a float64
	examples []atomic.Pointer[example]
}

type example struct {
	Example

	// collected says that a reader has the example: the next one replaces it.
	collected atomic.Bool
}

func newHistogram(set attribute.Set, bounds []float64) *histogram {
	n := len(bounds) + 1
	return &histogram{set: set, bounds: bounds, counts: make([]atomic.Uint64, n), examples: make([]atomic.Pointer[example], n)}
}

// record records a value. span, if it is sampled, becomes the example of the value's bucket,
// unless the bucket has one that no reader has collected yet.
func (h *histogram) record(value float64, span trace.SpanContext) {
	if h == nil {
		return
	}
	i := 0
	for i < len(h.bounds) && value > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+value)) {
			break
		}
	}
	if !span.IsSampled() {
		return
	}
	if e := h.examples[i].Load(); e == nil || e.collected.Load() {
		h.examples[i].Store(&example{Example: Example{Value: value, At: time.Now(), TraceID: span.TraceID(), SpanID: span.SpanID()}})
	}
}

// series are the counters and histograms of each combination of values, resolved once. A
// lookup takes no lock and allocates nothing. Keys hold only bounded values, so their number
// is bounded.
type series[K comparable, V any] struct {
	make func(K) V

	mu  sync.Mutex
	all atomic.Pointer[map[K]*resolved[K, V]]
	// last is what was looked up last. Requests that follow one another mostly have the same
	// values, whose strings are the same memory: to compare them costs a third of hashing them.
	last atomic.Pointer[resolved[K, V]]
}

// resolved is the counter or histogram of one combination of values.
type resolved[K comparable, V any] struct {
	key   K
	value V
}

func newSeries[K comparable, V any](one func(K) V) *series[K, V] {
	s := &series[K, V]{make: one}
	s.all.Store(&map[K]*resolved[K, V]{})
	return s
}

func (s *series[K, V]) of(key K) V {
	if last := s.last.Load(); last != nil && last.key == key {
		return last.value
	}
	r, ok := (*s.all.Load())[key]
	if !ok {
		r = s.add(key)
	}
	s.last.Store(r)
	return r.value
}

func (s *series[K, V]) add(key K) *resolved[K, V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := *s.all.Load()
	if r, ok := all[key]; ok {
		return r
	}
	r := &resolved[K, V]{key, s.make(key)}
	all = maps.Clone(all)
	all[key] = r
	s.all.Store(&all)
	return r
}

type rpcKey struct{ method, code string }

func rpcAttributes(k rpcKey) []attribute.KeyValue {
	failure := ""
	if k.code != "OK" {
		failure = k.code
	}
	return []attribute.KeyValue{
		attribute.String("rpc.system.name", "grpc"), attribute.String("rpc.method", k.method),
		attribute.String("rpc.response.status_code", k.code), attribute.String("error.type", failure),
	}
}

// HTTPCall is what the labels of one call of an upstream over HTTP are made of.
type HTTPCall struct {
	// Method is the HTTP method, Address and Port the upstream's, Status the status of the answer
	// (0 for none), Failure the word for why there is none.
	Method, Address string
	Port, Status    int
	Failure         string
	Upstream        string
}

func (k HTTPCall) attributes() []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.String("http.request.method", k.Method), attribute.String("server.address", k.Address),
		attribute.String("error.type", k.Failure), attribute.String("upstream", k.Upstream),
	}
	if k.Port > 0 {
		list = append(list, attribute.Int("server.port", k.Port))
	}
	if k.Status > 0 {
		list = append(list, attribute.Int("http.response.status_code", k.Status))
	}
	return list
}

// CalledHTTP counts one call of an upstream over HTTP.
func (c *Core) CalledHTTP(span trace.SpanContext, call HTTPCall, took time.Duration) {
	if c != nil {
		c.https.of(call).record(took.Seconds(), span)
	}
}

// ServedRPC counts one call of the gRPC contract. The method is genway.v1.Generation/NAME,
// code the name of the status.
func (c *Core) ServedRPC(span trace.SpanContext, method, code string, took time.Duration) {
	if c != nil {
		c.rpcs.of(rpcKey{method, code}).record(took.Seconds(), span)
	}
}

// Metric is what a registry has of one metric: sums of a counter or an up-down counter,
// distributions of a histogram.
type Metric struct {
	Definition

	Sums          []Sum
	Distributions []Distribution
}

// Sum is one series of a counter since the registry was made, in steps if the definition has them.
type Sum struct {
	Set attribute.Set
	N   int64
}

// Distribution is one series of a histogram since the registry was made. Counts has one
// element for each bound of the definition, and one for larger values.
type Distribution struct {
	Set      attribute.Set
	Counts   []uint64
	Total    float64
	Examples []Example
}

// Example is a value of a sampled request.
type Example struct {
	Value   float64
	At      time.Time
	TraceID trace.TraceID
	SpanID  trace.SpanID
}

// Begun is when the registry was made.
func (r *Registry) Begun() time.Time { return r.start }

// Collect returns all metrics that something was recorded to.
func (r *Registry) Collect() []Metric {
	r.mu.Lock()
	families := slices.Clip(r.families)
	r.mu.Unlock()
	var all []Metric
	for _, f := range families {
		if m := f.collect(); len(m.Sums)+len(m.Distributions) > 0 {
			all = append(all, m)
		}
	}
	return all
}

func (f *family) collect() Metric {
	m := Metric{Definition: f.Definition}
	f.mu.Lock()
	counters, histograms := f.counters.all, f.histograms.all
	f.mu.Unlock()
	for _, c := range counters {
		if c.seen.Load() {
			m.Sums = append(m.Sums, Sum{c.set, c.n.Load()})
		}
	}
	for _, h := range histograms {
		if d, seen := h.collect(); seen {
			m.Distributions = append(m.Distributions, d)
		}
	}
	return m
}

// collect reads the histogram, and reports whether it has any value.
func (h *histogram) collect() (d Distribution, seen bool) {
	d = Distribution{Set: h.set, Counts: make([]uint64, len(h.counts)), Total: math.Float64frombits(h.sum.Load())}
	for i := range h.counts {
		d.Counts[i] = h.counts[i].Load()
		seen = seen || d.Counts[i] > 0
		if e := h.examples[i].Load(); e != nil {
			e.collected.Store(true)
			d.Examples = append(d.Examples, e.Example)
		}
	}
	return d, seen
}
