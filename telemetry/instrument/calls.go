package instrument

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

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
