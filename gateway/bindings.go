package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/genway/genway/protocol"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
)

// bindings are the handlers of the generated registration for requests with a body. They are
// looked up at start. The runtime tries one pattern after the other for each request and makes
// an error of each that does not match, which costs a quarter of the edge's allocations
// (docs/decisions/0038). A handler serves every path of its RPC that names a model, or every
// path of its RPC that does not.
type bindings map[bindingKey]binding

// bindingKey is an RPC, by the operation and whether it streams, and the form of the path.
type bindingKey struct {
	operation       protocol.Operation
	streamed, named bool
}

type binding struct {
	handler runtime.HandlerFunc
	model   string // the parameter that takes the path's model; empty for none
}

// bindingsOf looks up the handlers by sending the runtime a request for each path, with the
// model m.
func bindingsOf(mux *runtime.ServeMux) bindings {
	found := bindings{}
	ask := func(key bindingKey, path string) {
		s := &handlerProbe{header: http.Header{}}
		mux.ServeHTTP(s, &http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}})
		if s.found.handler != nil {
			found[key] = s.found
		}
	}
	for _, b := range protocol.Contract() {
		switch {
		case !hasBody(b.Operation):
		case b.Model != "":
			ask(keyOf(b.Operation, false, true), b.Prefix+"m"+b.Suffix)
		default:
			ask(keyOf(b.Operation, false, false), b.Prefix)
			ask(keyOf(b.Operation, true, false), b.Prefix+protocol.StreamSuffix)
		}
	}
	return found
}

// keyOf gives the key of an operation. Conversations are compacted by the RPC that
// generates, and a path that always streams has the RPC of streams that a body asks for.
func keyOf(op protocol.Operation, streamed, named bool) bindingKey {
	switch op { //nolint:exhaustive // all others have an RPC each
	case protocol.Compact:
		op = protocol.Generate
	case protocol.Stream:
		op, streamed = protocol.Generate, true
	}
	return bindingKey{op, streamed, named}
}

// find gives the handler of a request and the parameters of its path. It gives nil if the
// runtime must look the handler up, as for a model with a slash in its name, which the runtime
// unescapes.
func (b bindings) find(p path, streamed bool, r *http.Request) (runtime.HandlerFunc, map[string]string) {
	if !hasBody(p.operation) || p.model != "" && (r.URL.RawPath != "" || strings.Contains(p.model, "/")) {
		return nil, nil
	}
	found := b[keyOf(p.operation, streamed, p.model != "")]
	if found.model == "" {
		return found.handler, nil
	}
	return found.handler, map[string]string{found.model: p.model}
}

// handlerProbe is a ResponseWriter that asks for a path's handler instead of an answer.
type handlerProbe struct {
	header http.Header
	found  binding
}

func (s *handlerProbe) Header() http.Header       { return s.header }
func (*handlerProbe) Write(b []byte) (int, error) { return len(b), nil }
func (*handlerProbe) WriteHeader(int)             {}

// discoverable is a middleware that gives its handler to a handlerProbe, and calls it for all
// other writers.
func discoverable(handler runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		s, asked := w.(*handlerProbe)
		if !asked {
			handler(w, r, params)
			return
		}
		s.found.handler = handler
		for name := range params {
			s.found.model = name
		}
	}
}
