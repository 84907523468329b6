package gateway

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/gateway/openapi"
	"github.com/genway/genway/protocol"
)

// path is one public path, with its endpoint and its methods.
type path struct {
	name string
	// endpoint is nil where the caller's headers say which protocol it speaks.
	endpoint *endpoint
	methods  []string
	// operation is what the path asks for; 0 for none of the core's.
	operation protocol.Operation
	// model is the one named by a path with a verb.
	model string
	// handle serves paths that the edge answers without the core.
	handle func(*Edge, *answerWriter, *http.Request)
}

func (p path) allows(method string) bool { return slices.Contains(p.methods, method) }
func (p path) allow() string             { return strings.Join(p.methods, ", ") }

// hasBody reports whether an operation reads a body.
func hasBody(op protocol.Operation) bool {
	switch op {
	case protocol.Generate, protocol.Stream, protocol.Count, protocol.Compact, protocol.Draw:
		return true
	case protocol.ListModels, protocol.GetModel:
	}
	return false
}

// paths are the public paths of an edge.
type paths struct {
	// fixed are those without a model in them. Streams that a body asks for have none.
	fixed map[string]path
	// models are those with a model in them, by what is ahead of it.
	models []modelPaths
	// steps are the first steps, behind the version, of the paths, and firstSteps those that
	// only clients of one protocol send.
	steps      map[string]bool
	firstSteps map[string]*endpoint
}

// modelPaths are the paths with a model behind one prefix.
type modelPaths struct {
	prefix string
	// owner is the endpoint of the path without a verb; nil if the caller's headers decide.
	owner *endpoint
	// verbs are the paths with a verb, which follows the model behind a colon. verbOwner is
	// the endpoint of one of them. It answers verbs that do not exist.
	verbs     map[string]path
	verbOwner *endpoint
}

// newPaths gives the paths of the endpoints' protocols, those that several of them share,
// and the edge's own.
func newPaths(endpoints []*endpoint) paths {
	probe := []string{http.MethodGet, http.MethodHead}
	t := paths{steps: map[string]bool{}, firstSteps: map[string]*endpoint{}, fixed: map[string]path{
		livePath:     {methods: probe, handle: live},
		readyPath:    {methods: probe, handle: ready},
		healthPath:   {methods: probe, handle: ready},
		"/":          {methods: probe, handle: root},
		openapi.Path: {methods: probe, handle: document},
		"*":          {methods: []string{http.MethodOptions}, handle: options},
	}}
	for _, b := range protocol.Contract() {
		t.add(b, nil)
	}
	for _, e := range endpoints {
		for _, b := range e.protocol.Bindings {
			t.add(b, e)
		}
		for _, step := range e.protocol.FirstSteps {
			t.firstSteps[step] = e
		}
		if !e.protocol.NamesModelInPath() {
			t.steps[e.protocol.Step()] = true
		}
	}
	return t
}

// add adds a path. Those of the contract come first, without an endpoint.
func (t *paths) add(b protocol.Binding, e *endpoint) {
	p := path{name: b.Prefix, endpoint: e, methods: []string{b.Method}, operation: b.Operation}
	if b.Model == "" {
		t.fixed[b.Prefix] = p
		return
	}
	at := slices.IndexFunc(t.models, func(m modelPaths) bool { return m.prefix == b.Prefix })
	if at < 0 {
		at = len(t.models)
		t.models = append(t.models, modelPaths{prefix: b.Prefix, verbs: map[string]path{}})
	}
	if m := &t.models[at]; b.Suffix == "" {
		m.owner = e
	} else {
		m.verbs[b.Suffix[1:]], m.verbOwner = p, e
	}
}

// below gives the paths with a model that begin like name, and the rest of it.
func (t *paths) below(name string) (m *modelPaths, rest string) {
	for i := range t.models {
		if rest, ok := strings.CutPrefix(name, t.models[i].prefix); ok {
			return &t.models[i], rest
		}
	}
	return nil, ""
}

// match finds the path of a request. If there is none, the endpoint of the result is the
// likeliest, whose protocol has the shape of the error.
func (e *Edge) match(r *http.Request) (path, bool) {
	name := r.URL.Path
	// The contract's strings cannot hold other bytes, and a slash that is spelled %2F is
	// part of a segment.
	if !utf8.ValidString(name) || e.paths.hidesSlash(r) {
		return path{name: name, endpoint: e.guess(r)}, false
	}
	if p, ok := e.paths.fixed[name]; ok {
		p.name = name
		if p.endpoint == nil {
			p.endpoint = e.callersEndpoint(r)
		}
		return p, true
	}
	m, model := e.paths.below(name)
	if m == nil || model == "" || model[0] == ':' {
		return path{name: name, endpoint: e.guess(r)}, false
	}
	if i := strings.LastIndexByte(model, ':'); i > 0 && m.verbOwner != nil {
		p, ok := m.verbs[model[i+1:]]
		if ok {
			p.name, p.model = name, model[:i]
			return p, true
		}
		if r.Method == http.MethodPost {
			return path{name: name, endpoint: m.verbOwner}, false
		}
	}
	p := path{name: name, endpoint: m.owner, methods: []string{http.MethodGet}, operation: protocol.GetModel}
	if p.endpoint == nil {
		p.endpoint = e.callersEndpoint(r)
	}
	return p, true
}

func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// root answers the probe that some clients send before their first call.
func root(_ *Edge, w *answerWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"service":"genway","status":"ok"}` + "\n"))
}

// options answers OPTIONS of the whole server, which asks whether the server answers at all (RFC 9110, section 9.3.7).
func options(_ *Edge, w *answerWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// hidesSlash reports whether a slash ahead of the model's name is spelled %2F.
func (t *paths) hidesSlash(r *http.Request) bool {
	raw := r.URL.RawPath
	at := strings.Index(strings.ToLower(raw), "%2f")
	if at < 0 {
		return false
	}
	m, _ := t.below(raw[:at])
	return m == nil
}
