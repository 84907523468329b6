package instrument

import (
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

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

// resolved is what one combination of values stands for.
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
	// Method is the HTTP method, Address and Port the upstream's, Status that of the answer
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
