package gateway_test

import (
	"net/http"
	"testing"

	"github.com/genway/genway/gateway"
	"github.com/genway/genway/gateway/openapi"
)

// The document is served without a key, and not again to who has it.
func TestOpenAPI(t *testing.T) {
	e := serve(t, func(*gateway.Config) {})
	got := e.do(t, http.MethodGet, openapi.Path, http.Header{}, "")
	tag := got.header.Get("ETag")
	if got.status != http.StatusOK || got.body != string(openapi.Document()) || got.header.Get("Content-Type") != "application/json" || tag == "" {
		t.Errorf("%d %v, %d bytes", got.status, got.header, len(got.body))
	}
	for _, c := range []struct {
		method, tag string
		status      int
	}{
		{http.MethodHead, "", http.StatusOK},
		{http.MethodGet, tag, http.StatusNotModified},
		{http.MethodGet, `"other"`, http.StatusOK},
		{http.MethodPost, "", http.StatusMethodNotAllowed},
		{http.MethodDelete, "", http.StatusMethodNotAllowed},
	} {
		got := e.do(t, c.method, openapi.Path, http.Header{"If-None-Match": {c.tag}}, "")
		if got.status != c.status || got.header.Get("X-Request-ID") == "" {
			t.Errorf("%s with the tag %s: %d %v", c.method, c.tag, got.status, got.header)
		}
		if (c.method == http.MethodHead || c.status == http.StatusNotModified) && got.body != "" {
			t.Errorf("%s: %d has a body", c.method, got.status)
		}
	}
}
