// Package otlp is an OTLP receiver for tests, on the official types, over gRPC and HTTP. It
// keeps all spans, the names and units of metrics, and all bytes that came.
//
// It must not import the gateway's own packages.
package otlp

import (
	"compress/gzip"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // which collectors send
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Receiver is an OTLP receiver.
type Receiver struct {
	collecttraces.UnimplementedTraceServiceServer
	collectmetrics.UnimplementedMetricsServiceServer

	mu      sync.Mutex
	spans   []*tracepb.Span
	metrics map[string]bool // by name
	units   map[string]string
	raw     []byte // all that came
	exports []Export
	changed chan struct{} // closed and replaced when something comes
}

// Export is one delivery.
type Export struct {
	// Signal is traces or metrics.
	Signal string
	// Path is that of HTTP; empty for gRPC.
	Path string
	// Header is that of HTTP, or the metadata of gRPC.
	Header http.Header
	// Resource are the attributes of the first resource that are texts.
	Resource map[string]string
	// Delta says that a counter in it has delta temporality.
	Delta bool
}

// Start starts a receiver and returns its endpoint for each protocol of OTLP, by the words of
// OTEL_EXPORTER_OTLP_PROTOCOL. The test's end stops it.
func Start(tb testing.TB) (r *Receiver, endpoints map[string]string) {
	tb.Helper()
	r = &Receiver{metrics: map[string]bool{}, units: map[string]string{}, changed: make(chan struct{})}
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	over := grpc.NewServer()
	collecttraces.RegisterTraceServiceServer(over, r)
	collectmetrics.RegisterMetricsServiceServer(over, metricsOf{r: r})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = over.Serve(listener)
	}()
	web := httptest.NewServer(r)
	tb.Cleanup(func() {
		over.Stop()
		<-ended
		web.Close()
	})
	return r, map[string]string{"grpc": "http://" + listener.Addr().String(), "http/protobuf": web.URL}
}

// Export takes spans over gRPC.
func (r *Receiver) Export(ctx context.Context, in *collecttraces.ExportTraceServiceRequest) (*collecttraces.ExportTraceServiceResponse, error) {
	r.take("", metadataOf(ctx), in, in.GetResourceSpans(), nil)
	return &collecttraces.ExportTraceServiceResponse{}, nil
}

// metricsOf takes metrics over gRPC.
type metricsOf struct {
	collectmetrics.UnimplementedMetricsServiceServer

	r *Receiver
}

func (m metricsOf) Export(ctx context.Context, in *collectmetrics.ExportMetricsServiceRequest) (*collectmetrics.ExportMetricsServiceResponse, error) {
	m.r.take("", metadataOf(ctx), in, nil, in.GetResourceMetrics())
	return &collectmetrics.ExportMetricsServiceResponse{}, nil
}

// metadataOf is the metadata of a call, as a header.
func metadataOf(ctx context.Context) http.Header {
	md, _ := metadata.FromIncomingContext(ctx)
	h := http.Header{}
	for name, values := range md {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return h
}

// bodyOf reads a body, which may be compressed.
func bodyOf(req *http.Request) ([]byte, error) {
	if req.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(req.Body)
	}
	plain, err := gzip.NewReader(req.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(plain)
}

// ServeHTTP takes both over HTTP, below any path.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := bodyOf(req)
	if err != nil {
		return
	}
	traces, metrics := new(collecttraces.ExportTraceServiceRequest), new(collectmetrics.ExportMetricsServiceRequest)
	var answer proto.Message
	switch {
	case strings.HasSuffix(req.URL.Path, "/v1/traces"):
		if err = proto.Unmarshal(body, traces); err == nil {
			r.take(req.URL.Path, req.Header, traces, traces.GetResourceSpans(), nil)
		}
		answer = &collecttraces.ExportTraceServiceResponse{}
	case strings.HasSuffix(req.URL.Path, "/v1/metrics"):
		if err = proto.Unmarshal(body, metrics); err == nil {
			r.take(req.URL.Path, req.Header, metrics, nil, metrics.GetResourceMetrics())
		}
		answer = &collectmetrics.ExportMetricsServiceResponse{}
	default:
		http.NotFound(w, req)
		return
	}
	if err != nil || req.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "no protobuf", http.StatusBadRequest)
		return
	}
	encoded, err := proto.Marshal(answer)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(encoded)
}

func (r *Receiver) take(path string, header http.Header, all proto.Message, spans []*tracepb.ResourceSpans, metrics []*metricspb.ResourceMetrics) {
	raw, err := proto.Marshal(all)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.raw = append(r.raw, raw...)
	}
	export := Export{Signal: "traces", Path: path, Header: header, Resource: map[string]string{}}
	if len(metrics) > 0 {
		export.Signal = "metrics"
		export.describe(metrics[0].GetResource())
	}
	if len(spans) > 0 {
		export.describe(spans[0].GetResource())
	}
	for _, resource := range spans {
		for _, scope := range resource.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
	for _, resource := range metrics {
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				r.metrics[m.GetName()] = true
				r.units[m.GetName()] = m.GetUnit()
				export.Delta = export.Delta || m.GetSum().GetAggregationTemporality() == metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
			}
		}
	}
	r.exports = append(r.exports, export)
	close(r.changed)
	r.changed = make(chan struct{})
}

func (e *Export) describe(resource *resourcepb.Resource) {
	for _, a := range resource.GetAttributes() {
		if text := a.GetValue().GetStringValue(); text != "" {
			e.Resource[a.GetKey()] = text
		}
	}
}

// AwaitExport waits for a delivery of a signal that satisfies.
func (r *Receiver) AwaitExport(tb testing.TB, signal string, satisfies func(Export) bool) Export {
	tb.Helper()
	var found Export
	r.Await(tb, "an export of "+signal, func([]*tracepb.Span, map[string]bool) bool {
		for _, e := range r.exports {
			if e.Signal == signal && satisfies(e) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// Exports are all deliveries.
func (r *Receiver) Exports() []Export {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.exports)
}

// Raw is all that came, as protobuf.
func (r *Receiver) Raw() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.raw)
}

// Units are the units of the metrics that came, by their names.
func (r *Receiver) Units() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.units)
}
