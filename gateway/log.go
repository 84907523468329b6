package gateway

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/telemetry/tracing"
	"github.com/genway/genway/telemetry/wideline"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// log writes the request's line. Its fields are documented in docs/observability.md: they
// keep their names. It never holds a prompt, an answer or a key.
func (e *Edge) log(x *exchange, r *http.Request, path string, end time.Time, own time.Duration, cut string) {
	level, grave := slog.LevelInfo, x.fault != nil && x.fault.Cause != nil && x.fault.HTTPStatus() >= 500
	switch {
	case grave:
		level = slog.LevelError
	case x.record.probe && x.w.status == http.StatusOK:
		level = slog.LevelDebug // probes come every second, and say nothing while all is well
	}
	ctx, log := r.Context(), e.config.Logger.Handler()
	if !log.Enabled(ctx, level) {
		return
	}
	line := wideline.New(log, end, level, "request")
	line.Text("request_id", x.id)
	line.Text("protocol", x.endpoint.protocol.Name)
	line.Text("method", clip(r.Method, 16))
	line.Text("path", clip(path, 200))
	line.Int("status", int64(x.w.status))
	line.Int("bytes", x.w.bytes)
	line.Int("request_bytes", int64(len(x.body)))
	line.Seconds("duration_seconds", end.Sub(x.start))
	line.Seconds("own_seconds", own)
	if x.span.IsValid() {
		line.Text("trace_id", x.span.TraceText())
	}
	if x.key != "" {
		line.Text("key", x.key)
	}
	if x.client != "" {
		line.Text("client", x.client)
	}
	if x.clientID != "" {
		line.Text("client_request_id", x.clientID)
	}
	if x.stream != nil {
		line.Int("stream_events", x.record.events)
		line.Int("heartbeats", x.record.heartbeats)
	}
	if cut != "" {
		line.Text("cut_by", cut)
	}
	if len(x.named) > 0 {
		line.Int("losses", int64(len(x.named)))
	}
	if x.fault != nil {
		line.Text("reason", x.fault.Reason)
		line.Text("kind", fault.Name(x.fault.Kind))
	}
	if grave {
		line.Text("cause", x.fault.Cause.Error())
	}
	line.Write(ctx)
}

// export makes the span of a request, as semantic-conventions v1.43.0 have it
// (docs/http/http-spans.md). The path and the query are left out: both may hold a key.
func (e *Edge) export(x *exchange, r *http.Request, end time.Time, own time.Duration, kind, cut string) {
	s, text := &x.record, attribute.String
	name := s.method
	if s.method == "_OTHER" {
		name = "HTTP"
	}
	if s.route != "" {
		name += " " + s.route
	}
	f := tracing.Facts{Name: name, Kind: trace.SpanKindServer, Begin: x.start, End: end, Failure: kind}
	f.Attributes = []attribute.KeyValue{
		text("genway.request_id", x.id), text("genway.protocol", x.endpoint.protocol.Name), text("http.request.method", s.method), text("url.scheme", s.scheme),
		attribute.Int("http.response.status_code", x.w.status), text("network.protocol.version", versionOf(r)),
		attribute.Int("http.request.body.size", len(x.body)), attribute.Int64("http.response.body.size", x.w.bytes), attribute.Float64("genway.own_seconds", own.Seconds()),
	}
	for _, optional := range [...]struct{ name, value string }{
		{"http.route", s.route}, {"genway.key_id", x.key}, {"client.address", x.client}, {"genway.client_request_id", x.clientID},
	} {
		if optional.value != "" {
			f.Attributes = append(f.Attributes, text(optional.name, optional.value))
		}
	}
	if x.fault != nil && x.fault.Reason != "" {
		f.Attributes = append(f.Attributes, text("genway.reason", x.fault.Reason))
	}
	if x.stream != nil {
		f.Attributes = append(f.Attributes, attribute.Int64("genway.stream_events", s.events))
	}
	if cut != "" {
		f.Events = append(f.Events, tracing.Event{Name: "genway.cut", At: end, Attributes: []attribute.KeyValue{text("genway.side", cut)}})
	}
	e.config.Tracer.Export(x.span, f)
}
