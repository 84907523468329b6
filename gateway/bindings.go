package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
)

// bindings are the handlers of the generated registration for paths with a body, found
// before there are requests for them. To look for one, the runtime tries one pattern
// after the other and makes an error of each that does not match, which costs as much as
// all else it does.
type bindings map[bindingKey]binding

// bindingKey is a path: what stands ahead of a model in it, or all but the verb where
// there is none, and what follows.
type bindingKey struct{ prefix, suffix string }

type binding struct {
	handler runtime.HandlerFunc
	model   string // the parameter that the path's model is for; empty for none
}

// streamVerb is what the edge adds to the path of a stream.
const streamVerb = ":stream"

// bindingsOf asks the runtime for them, by requests to a model m.
func bindingsOf(mux *runtime.ServeMux) bindings {
	found := bindings{}
	ask := func(prefix, model, suffix string) {
		s := &seeker{header: http.Header{}}
		mux.ServeHTTP(s, &http.Request{Method: http.MethodPost, URL: &url.URL{Path: prefix + model + suffix}})
		if s.found.handler != nil {
			found[bindingKey{prefix, suffix}] = s.found
		}
	}
	for name, p := range paths {
		if p.kind.hasBody() {
			ask(name, "", "")
			ask(name, "", streamVerb)
		}
	}
	for verb := range modelVerbs {
		ask(modelsPrefix, "m", ":"+verb)
		ask(betaModelsPrefix, "m", ":"+verb)
	}
	return found
}

// find gives the handler of a request and the parameters of its path; nil is one that
// the runtime must look for.
func (b bindings) find(p path, r *http.Request) (runtime.HandlerFunc, map[string]string) {
	if !p.kind.hasBody() || r.URL.RawPath != "" || strings.Contains(p.model, "/") {
		return nil, nil
	}
	prefix := p.prefix()
	found := b[bindingKey{prefix, r.URL.Path[len(prefix)+len(p.model):]}]
	if found.model == "" {
		return found.handler, nil
	}
	return found.handler, map[string]string{found.model: p.model}
}

// seeker is a ResponseWriter that wants to know a path's handler, and no answer.
type seeker struct {
	header http.Header
	found  binding
}

func (s *seeker) Header() http.Header       { return s.header }
func (*seeker) Write(b []byte) (int, error) { return len(b), nil }
func (*seeker) WriteHeader(int)             {}

// revealed shows a handler to those who seek it.
func revealed(handler runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		s, seeking := w.(*seeker)
		if !seeking {
			handler(w, r, params)
			return
		}
		s.found.handler = handler
		for name := range params {
			s.found.model = name
		}
	}
}
