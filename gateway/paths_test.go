package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

// Paths that name nothing are a native 404, however broken they are.
func TestPathsThatNameNothing(t *testing.T) {
	e := serve(t, nil)
	for _, c := range []struct{ protocol, method, path string }{
		{"chat", http.MethodGet, "/%ff"},
		{"chat", http.MethodGet, "/v1/models/%ff"},
		{"generatecontent", http.MethodPost, "/v1beta/models/%ff:generateContent"},
		{"generatecontent", http.MethodPost, "/v1beta/models/:generateContent"},
		{"chat", http.MethodGet, "/" + strings.Repeat("%E6%97%A5", 100)},
		{"chat", http.MethodGet, "/a" + strings.Repeat("%E6%97%A5", 100)},
	} {
		r := e.do(t, c.method, c.path, right(c.protocol), `{"contents":[{"parts":[{"text":"a"}]}]}`)
		native(t, c.protocol, r, http.StatusNotFound)
		if !utf8.ValidString(r.body) {
			t.Errorf("%s: the answer is no UTF-8: %q", c.path, r.body)
		}
	}
}
