package remote

import (
	"net/http"
	"testing"
	"time"
)

// The wait that an upstream names is taken as it is, up to a month: no figure makes it
// negative or none at all.
func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		ms, seconds string
		want        time.Duration
	}{
		{"", "", 0}, {"", "2", 2 * time.Second}, {"20", "9", 20 * time.Millisecond}, {"", "0.5", 500 * time.Millisecond},
		{"0", "3", 3 * time.Second}, {"-1", "3", 3 * time.Second}, {"x", "3", 3 * time.Second}, {"NaN", "3", 3 * time.Second},
		{"", "-1", 0}, {"", "NaN", 0}, {"", "soon", 0}, {"", "Thu, 01 Jan 1970 00:00:00 GMT", 0},
		{"", "9223372036854775807", maxWait}, {"", "1e300", maxWait}, {"", "Inf", maxWait}, {"1e300", "", maxWait}, {"+Inf", "1", maxWait},
		{"", "Fri, 31 Dec 9999 23:59:59 GMT", maxWait},
	} {
		h := http.Header{}
		h.Set("Retry-After-Ms", c.ms)
		h.Set("Retry-After", c.seconds)
		if got := retryAfter(h); got != c.want {
			t.Errorf("Retry-After-Ms %q, Retry-After %q: %v, want %v", c.ms, c.seconds, got, c.want)
		}
	}
}
