package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/protocol"
)

// A caller without a good key is refused before its body of 64 MiB is read, at every path of
// every protocol that takes a body, with the status and the shape of the protocol. No byte of
// the bodies is ever sent: an endpoint that waits for one does not answer.
func TestKeysComeBeforeLargeBodiesAtEachPath(t *testing.T) {
	t.Parallel()
	e := serve(t, nil)
	e.core.fail = detailed(fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key"))
	paths := 0
	for _, p := range protocol.All() {
		for _, b := range p.Bindings {
			if b.Method != http.MethodPost || b.Stored { // which takes no body
				continue
			}
			paths++
			path := b.Prefix
			if b.Model != "" {
				path += "m" + b.Suffix
			}
			var head strings.Builder
			fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n", path, 64<<20)
			if err := right(p.Kind).Write(&head); err != nil {
				t.Fatal(err)
			}
			before := e.core.checks.Load()
			status, body := answered(t, e.raw(t, head.String()+"\r\n"))
			want := http.StatusUnauthorized
			if p.KeyGroup == "generatecontent" { // the vendor's own status
				want = http.StatusBadRequest
			}
			if status != want || !strings.Contains(body, "invalid API key") || !strings.HasPrefix(body, "{") || e.core.checks.Load() != before+1 {
				t.Errorf("%s: %d %s, the core was asked %d times", path, status, body, e.core.checks.Load()-before)
			}
		}
	}
	if paths < 10 {
		t.Errorf("%d paths take a body", paths)
	}
}
