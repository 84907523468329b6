package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/genway/genway/internal/transport/inproc"
	"github.com/genway/genway/protocol"
)

// The handlers of all requests with a body are found ahead, with the model that the
// runtime would find; paths that only it can read are left to it.
func TestBindingsAreFound(t *testing.T) {
	e, err := New(Config{Core: new(inproc.Channel)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, verb, param, model string
		runtime                  bool
	}{
		{path: "/v1/chat/completions"},
		{path: "/v1/chat/completions", verb: protocol.StreamSuffix},
		{path: "/v1/responses", verb: protocol.StreamSuffix},
		{path: "/v1/responses/input_tokens"},
		{path: "/v1/messages", verb: protocol.StreamSuffix},
		{path: "/v1/messages/count_tokens"},
		{path: "/v1/images/generations"},
		{path: "/v1/models/a:generateContent", param: "model", model: "a"},
		{path: "/v1beta/models/a:b:generateContent", param: "model", model: "a:b"},
		{path: "/v1beta/models/m:streamGenerateContent", param: "model", model: "m"},
		{path: "/v1beta/models/a:countTokens", param: "request.model", model: "a"},
		{path: "/v1beta/models/a/b:generateContent", runtime: true},
		{path: "/v1beta/models/a%2Fb:generateContent", runtime: true},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.path, nil)
		p, ok := e.match(r)
		if !ok {
			t.Fatalf("%s is no path", c.path)
		}
		handler, params := p.endpoint.bindings.find(p, c.verb != "", r)
		if (handler == nil) != c.runtime || params[c.param] != c.model {
			t.Errorf("%s%s: found %t, %v", c.path, c.verb, handler != nil, params)
		}
	}
}
