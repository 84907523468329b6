package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/genway/genway/internal/transport/inproc"
)

// A key in the URL is removed from it before anything can log it, however the name of
// its parameter is spelled.
func TestNoKeyStaysInTheURL(t *testing.T) {
	e, err := New(Config{Core: new(inproc.Channel)})
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"key=k", "%6bey=k", "key=k&key=l", "alt=sse&k%65y=k"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1beta/models/m:generateContent?"+query, nil)
		e.dropQueryKey(r)
		if r.URL.Query().Has("key") || strings.Contains(r.RequestURI, "=k") {
			t.Errorf("%s leaves %s and %s", query, r.URL.RawQuery, r.RequestURI)
		}
	}
}
