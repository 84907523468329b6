package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/telemetry/flight"
	"github.com/genway/genway/telemetry/instrument"
	"github.com/genway/genway/telemetry/tracing"
	"github.com/genway/genway/telemetry/wideline"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/status"
)

// requestRecord collects what the log line, the span and the metrics of a request need.
type requestRecord struct {
	// method and scheme are HTTP's as metrics have them, and route the pattern of the
	// path; empty for a path that the edge does not have.
	method, scheme, route string
	probe                 bool
	// active is the request as it was counted in.
	active instrument.Active
	// listed takes the request off the board; nil if it is not on one.
	listed func()
	// rpc is the method of the core that was called, code the name of the status of its
	// answer and calling how long that took, of a stream until its end; empty for no call.
	rpc, code string
	calling   time.Duration
	begun     time.Time
	// waited is how long the request waited for the core and for the caller's body.
	waited time.Duration
	// events and heartbeats are a stream's; completed says that the last event came.
	events, heartbeats int64
	completed          bool
}

// awaited adds what has passed since to the time that the request waited.
func (s *requestRecord) awaited(since time.Time) { s.waited += time.Since(since) }

// call notes that a method of the core is called.
func (s *requestRecord) call(method string) {
	s.rpc, s.begun = method, time.Now()
}

// answered notes the end of that call.
func (s *requestRecord) answered(err error) {
	s.code, s.calling = rpccode.Code_name[int32(status.Code(err))], time.Since(s.begun)
}

// observe begins the span of a request and counts it in.
func (e *Edge) observe(x *exchange, r *http.Request, p path, found bool) {
	h := r.Header
	in := tracing.Parse(h["Traceparent"], h["Tracestate"], h["Baggage"])
	x.span = e.config.Tracer.Start(in)
	s := &x.record
	s.method, s.scheme = instrument.Method(r.Method), "http"
	if r.TLS != nil {
		s.scheme = "https"
	}
	if found {
		s.route = e.template(p)
	}
	s.probe = isProbe(r.URL.Path)
	s.active = e.config.Metrics.Begun(s.method, s.scheme)
	if e.config.Board != nil {
		entry := flight.Entry{RequestID: x.id, Side: "edge", Protocol: x.endpoint.protocol.Name, What: s.method + " " + s.route, Begun: x.start}
		if x.span.IsValid() {
			entry.TraceID = x.span.TraceText()
		}
		s.listed = e.config.Board.Begin(entry)
	}
}

// template is the pattern of a path (http.route): the pattern of a path with a model does not name
// the model.
func (e *Edge) template(p path) string {
	if _, fixed := e.paths.fixed[p.name]; fixed {
		return p.name
	}
	m, rest := e.paths.below(p.name)
	switch {
	case m == nil:
		return ""
	case p.model == "":
		return m.prefix + "{model}"
	}
	return m.prefix + "{model}" + rest[len(p.model):]
}

// cutBy is the side that ended a stream before its end; empty for one that ended whole, and
// for what is no stream.
func (x *exchange) cutBy(ctx context.Context) string {
	switch {
	case x.stream == nil || x.w.status == 0 || x.fault == nil && x.record.completed:
		return ""
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errShutdown):
		return "caller"
	case x.fault == nil:
		return "caller" // the answer could not be written
	}
	if x.w.status != http.StatusOK {
		return "" // a failure in place of a stream
	}
	switch x.fault.Kind { //nolint:exhaustive // all others are of this side
	case fault.BadUpstream, fault.Timeout, fault.Overloaded, fault.RateLimited, fault.Unavailable:
		if x.fault.Reason != fault.ReasonShuttingDown && x.fault.Reason != fault.ReasonCoreUnreachable {
			return "upstream"
		}
	case fault.Cancelled:
		return "caller"
	}
	return "gateway"
}

// finish records a request that is over: its line in the log, its span and its metrics.
// The path is the caller's.
func (e *Edge) finish(x *exchange, r *http.Request, path string) {
	end := time.Now()
	s, took := &x.record, end.Sub(x.start)
	s.active.Ended()
	if s.listed != nil {
		s.listed()
	}
	own, cut := max(took-s.waited, 0), x.cutBy(r.Context())
	if refused := e.settle(x); !refused { // the gate has one line a second for all of those
		e.log(x, r, path, end, own, cut)
	}
	kind := ""
	if x.fault != nil {
		kind = fault.Name(x.fault.Kind)
	}
	e.config.Metrics.Ended(x.span.SpanContext, instrument.HTTPRequest{
		Method: s.method, Scheme: s.scheme, Route: s.route, Version: versionOf(r), Protocol: x.endpoint.protocol.Name, Status: x.w.status, Kind: kind,
		Duration: took, Own: own, Events: s.events, Heartbeats: s.heartbeats, Cut: cut, Probe: s.probe,
	})
	if s.code != "" && e.remote {
		e.config.Metrics.CalledRPC(x.span.SpanContext, s.rpc, s.code, s.calling)
	}
	if !s.probe && e.config.Tracer.Keeps(x.span, x.fault != nil, took) {
		e.export(x, r, end, own, kind, cut)
	}
}

// versionOf is the version of HTTP as the conventions spell it.
func versionOf(r *http.Request) string {
	if r.ProtoMajor >= 2 {
		return strconv.Itoa(r.ProtoMajor)
	}
	if r.ProtoMinor == 0 {
		return "1.0"
	}
	return "1.1"
}

// log writes the request's line. Its fields are documented in docs/reference/telemetry.md: they
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
	if x.socket != "" {
		line.Text("socket", x.socket)
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
