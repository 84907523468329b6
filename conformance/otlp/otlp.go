// Package otlp is an OTLP receiver for tests, on the official types, over gRPC and HTTP. It
// keeps all spans, the names and units of metrics, and all bytes that came.
//
// It must not import the gateway's own packages.
package otlp

import (
	"context"
	"encoding/hex"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // which collectors send
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
	raw     []byte        // all that came
	changed chan struct{} // closed and replaced when something comes
}

// Start starts a receiver and gives its endpoint for each protocol of OTLP, by the words of
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
func (r *Receiver) Export(_ context.Context, in *collecttraces.ExportTraceServiceRequest) (*collecttraces.ExportTraceServiceResponse, error) {
	r.take(in, in.GetResourceSpans(), nil)
	return &collecttraces.ExportTraceServiceResponse{}, nil
}

// metricsOf takes metrics over gRPC.
type metricsOf struct {
	collectmetrics.UnimplementedMetricsServiceServer

	r *Receiver
}

func (m metricsOf) Export(_ context.Context, in *collectmetrics.ExportMetricsServiceRequest) (*collectmetrics.ExportMetricsServiceResponse, error) {
	m.r.take(in, nil, in.GetResourceMetrics())
	return &collectmetrics.ExportMetricsServiceResponse{}, nil
}

// ServeHTTP takes both over HTTP.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	traces, metrics := new(collecttraces.ExportTraceServiceRequest), new(collectmetrics.ExportMetricsServiceRequest)
	var answer proto.Message
	switch req.URL.Path {
	case "/v1/traces":
		if err = proto.Unmarshal(body, traces); err == nil {
			r.take(traces, traces.GetResourceSpans(), nil)
		}
		answer = &collecttraces.ExportTraceServiceResponse{}
	case "/v1/metrics":
		if err = proto.Unmarshal(body, metrics); err == nil {
			r.take(metrics, nil, metrics.GetResourceMetrics())
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

func (r *Receiver) take(all proto.Message, spans []*tracepb.ResourceSpans, metrics []*metricspb.ResourceMetrics) {
	raw, err := proto.Marshal(all)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.raw = append(r.raw, raw...)
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
			}
		}
	}
	close(r.changed)
	r.changed = make(chan struct{})
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

// Await waits until what has come is enough.
func (r *Receiver) Await(tb testing.TB, what string, enough func(spans []*tracepb.Span, metrics map[string]bool) bool) {
	tb.Helper()
	deadline := time.NewTimer(3 * time.Minute)
	defer deadline.Stop()
	for {
		r.mu.Lock()
		done, changed := enough(r.spans, r.metrics), r.changed
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			tb.Fatalf("%s did not come; %d spans, metrics %v", what, len(r.spans), r.metrics)
		}
	}
}

// Trace waits for so many spans of a trace and gives them, by beginning.
func (r *Receiver) Trace(tb testing.TB, id string, n int) []*tracepb.Span {
	tb.Helper()
	var found []*tracepb.Span
	r.Await(tb, "the spans of "+id, func(spans []*tracepb.Span, _ map[string]bool) bool {
		found = nil
		for _, s := range spans {
			if hex.EncodeToString(s.GetTraceId()) == id {
				found = append(found, s)
			}
		}
		return len(found) >= n
	})
	slices.SortStableFunc(found, func(a, b *tracepb.Span) int {
		return int(int64(a.GetStartTimeUnixNano()) - int64(b.GetStartTimeUnixNano()))
	})
	return found
}

// Attribute gives an attribute of a span as text.
func Attribute(s *tracepb.Span, name string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == name {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// Event gives the event of a name; nil for none.
func Event(s *tracepb.Span, name string) *tracepb.Span_Event {
	for _, e := range s.GetEvents() {
		if e.GetName() == name {
			return e
		}
	}
	return nil
}
