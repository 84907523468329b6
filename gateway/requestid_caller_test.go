package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"
)

// A caller's own identifier of a request goes to the core, into the log and back to the
// caller, beside ours; one that could not stand there goes nowhere.
func TestCallersRequestIDs(t *testing.T) {
	long := strings.Repeat("x", 128)
	for _, c := range []struct{ name, header, given, taken string }{
		{"of the field", "X-Request-ID", "trace-7/a:b", "trace-7/a:b"},
		{"of a vendor", "X-Client-Request-Id", "7c9e6679", "7c9e6679"},
		{"the longest", "X-Request-ID", long, long},
		{"too long", "X-Request-ID", long + "x", ""},
		{"with blanks", "X-Request-ID", "a b", ""},
		{"not ASCII", "X-Request-ID", "\u00e9", ""},
		{"none", "X-Request-ID", "", ""},
	} {
		for _, p := range protocols {
			e := serve(t, nil)
			e.core.header = metadata.Pairs("genway-key", "key_1")
			h := right(p.name)
			h.Set(c.header, c.given)
			r := e.do(t, http.MethodPost, p.path, h, p.body)
			if r.status != http.StatusOK || r.header.Get("X-Request-ID") != "req_test" || r.header.Get("X-Client-Request-Id") != c.taken {
				t.Errorf("%s, %s: %d %v", p.name, c.name, r.status, r.header)
			}
			if sent := strings.Join(e.core.metadata().Get("genway-client-request-id"), ","); sent != c.taken {
				t.Errorf("%s, %s: the core gets %q", p.name, c.name, sent)
			}
			line := e.log.String()
			if c.taken == "" && strings.Contains(line, "client_request_id") || c.taken != "" && !strings.Contains(line, " client_request_id="+c.taken) {
				t.Errorf("%s, %s: %s", p.name, c.name, line)
			}
			if !strings.Contains(line, "key=key_1 client=127.0.0.1:") || r.header.Get("Genway-Key") != "" {
				t.Errorf("%s, %s: %s", p.name, c.name, line)
			}
		}
	}
}
