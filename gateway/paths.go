package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// path is one public path: whose it is, and what it takes.
type path struct {
	name     string
	protocol genwayv1.Protocol
	methods  []string
	kind     bodyKind
	// model is the one named by a path with a verb.
	model string
	// handle serves paths that are no business of the core.
	handle func(*Edge, *answerWriter, *http.Request)
}

// prefix is what stands ahead of the model, or the whole path where there is none.
func (p path) prefix() string {
	switch {
	case p.model == "":
		return p.name
	case strings.HasPrefix(p.name, betaModelsPrefix):
		return betaModelsPrefix
	}
	return modelsPrefix
}

func (p path) allows(method string) bool { return slices.Contains(p.methods, method) }
func (p path) allow() string             { return strings.Join(p.methods, ", ") }

var post = []string{http.MethodPost}
var get = []string{http.MethodGet}

// paths are the public paths without a model in them. Streams have none: the
// edge adds the verb :stream itself.
var paths = map[string]path{
	"/v1/chat/completions":       {protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, methods: post, kind: textBody},
	"/v1/responses":              {protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, methods: post, kind: textBody},
	"/v1/responses/compact":      {protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, methods: post, kind: compactBody},
	"/v1/responses/input_tokens": {protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, methods: post, kind: countBody},
	"/v1/messages":               {protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, methods: post, kind: textBody},
	"/v1/messages/count_tokens":  {protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, methods: post, kind: countBody},
	"/v1/images/generations":     {protocol: genwayv1.Protocol_PROTOCOL_IMAGES, methods: post, kind: imageBody},
	"/v1beta/models":             {protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, methods: get, kind: listQuery},
	healthPath:                   {methods: []string{http.MethodGet, http.MethodHead}, handle: healthz},
	"/":                          {methods: []string{http.MethodGet, http.MethodHead}, handle: root},
}

// healthPath is where the edge says whether it and the core are serving.
const healthPath = "/healthz"

// Ahead of the models' names stands one of these.
const (
	modelsPrefix     = "/v1/models/"
	betaModelsPrefix = "/v1beta/models/"
)

// modelVerbs are the operations on a model of the generateContent protocol.
var modelVerbs = map[string]bodyKind{
	"generateContent":       textBody,
	"streamGenerateContent": textBody,
	"countTokens":           countBody,
}

// match finds the path of a request. When there is none, the protocol is still
// the likeliest, for the error's shape.
func (e *Edge) match(r *http.Request) (path, bool) {
	name := r.URL.Path
	// The contract's strings cannot hold other bytes, and a slash that is spelled %2F is
	// part of a segment.
	if !utf8.ValidString(name) || hidesSlash(r) {
		return path{name: name, protocol: e.guess(r)}, false
	}
	if p, ok := paths[name]; ok {
		p.name = name
		if p.protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
			p.protocol = e.protocolOf(r)
		}
		return p, true
	}
	if name == "/v1/models" {
		return path{name: name, protocol: e.protocolOf(r), methods: get, kind: listQuery}, true
	}
	model, ok := strings.CutPrefix(name, modelsPrefix)
	beta := false
	if !ok {
		model, beta = strings.CutPrefix(name, betaModelsPrefix)
	}
	if (!ok && !beta) || model == "" || model[0] == ':' {
		return path{name: name, protocol: e.guess(r)}, false
	}
	if i := strings.LastIndexByte(model, ':'); i > 0 {
		kind, ok := modelVerbs[model[i+1:]]
		if !ok && r.Method == http.MethodPost {
			return path{name: name, protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT}, false
		}
		if ok {
			return path{name: name, protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, methods: post, kind: kind, model: model[:i]}, true
		}
	}
	if beta {
		return path{name: name, protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, methods: get}, true
	}
	return path{name: name, protocol: e.protocolOf(r), methods: get}, true
}

func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// root answers the probe some clients send before their first call.
func root(_ *Edge, w *answerWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"service":"genway","status":"ok"}` + "\n"))
}

// healthz says whether the core is there and serving.
func healthz(e *Edge, w *answerWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	answer, err := e.health.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"status":"core unavailable"}` + "\n"))
		return
	}
	_, _ = w.Write([]byte(`{"status":"ok"}` + "\n"))
}

// hidesSlash reports whether a slash ahead of the model's name is spelled %2F.
func hidesSlash(r *http.Request) bool {
	raw := r.URL.RawPath
	at := strings.Index(strings.ToLower(raw), "%2f")
	if at < 0 {
		return false
	}
	return !strings.HasPrefix(raw[:at], modelsPrefix) && !strings.HasPrefix(raw[:at], betaModelsPrefix)
}
