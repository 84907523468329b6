package gateway_test

import (
	"net/http"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Who served a call, and after how many attempts, is reported once, of failures too: that is
// when it is looked for.
func TestWhoServedIsTold(t *testing.T) {
	for _, p := range streamed {
		for _, failing := range []bool{false, true} {
			e := serve(t, nil)
			e.core.header = metadata.Pairs("x-genway-upstream", "main", "x-genway-attempts", "2", "secret", "inside")
			want := http.StatusOK
			if failing {
				e.core.fail = status.Error(codes.Unavailable, "down")
				want = http.StatusServiceUnavailable
			}
			got := e.do(t, http.MethodPost, p.path, right(p.name), p.body)
			if got.status != want {
				t.Errorf("%s: %d %s", p.name, got.status, got.body)
			}
			for name, value := range map[string]string{"X-Genway-Upstream": "main", "X-Genway-Attempts": "2"} {
				if values := got.header.Values(name); len(values) != 1 || values[0] != value {
					t.Errorf("%s, failing %t: %s is %q", p.name, failing, name, values)
				}
			}
			if got.header.Get("Secret") != "" {
				t.Errorf("%s: metadata of the core's own got out", p.name)
			}
		}
	}
}
