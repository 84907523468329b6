package remote

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Header fields of an answer are bounded: they are in no budget of memory.
func TestHeadersOfAnswersAreBounded(t *testing.T) {
	for kib, taken := range map[int]bool{100: true, 400: false, 4000: false} {
		vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for range kib {
				w.Header().Add("X", strings.Repeat("a", 1<<10))
			}
		}))
		transport := NewTransport(Way{Direct: true})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, vendor.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != taken {
			t.Errorf("%d KiB of fields: %v", kib, err)
		}
		transport.CloseIdleConnections()
		vendor.Close()
	}
}
