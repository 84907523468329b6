package observability

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// strangeContexts sends headers of traces that are malformed, too large or repeated. None may cost the
// call, and what upstreams see is W3C's.
func strangeContexts(t *testing.T, on bases) {
	const good = "00-" + callersTrace + "-" + callersSpan + "-01"
	many := func(n int) string {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf("k%d=v", i))
		}
		return strings.Join(members, ",")
	}
	allForms(t, on, func(t *testing.T, two bool, data string, _ *server.Postgres) {
		seen := &seenUpstream{}
		r := start(t, two, data, func(string, string) []string { return nil })
		r.vendors.Watch = seen.watch
		for name, c := range map[string]struct {
			parents, states, bags []string
			continued             bool
			state, bag            string
		}{
			"good":                        {[]string{good}, []string{"a=1"}, []string{"b=2"}, true, "a=1", "b=2"},
			"lists in several headers":    {[]string{good}, []string{"a=1", "b=2"}, []string{"c=3", "d=4"}, true, "a=1,b=2", "c=3,d=4"},
			"tabs":                        {[]string{good}, []string{"a=1,\tb=2"}, []string{"c=3,\td=4\t;\tp"}, true, "a=1,b=2", "c=3, d=4 ; p"},
			"spaces of Unicode":           {[]string{good}, []string{"a=1,\u00a0b=2"}, []string{"c=3,\u00a0d=4"}, true, "", ""},
			"letters beyond ASCII":        {[]string{good}, []string{"a=é"}, []string{"c=é"}, true, "", ""},
			"bytes that are no text":      {[]string{good}, []string{"a=\xff"}, []string{"c=\xe9"}, true, "", ""},
			"64 members":                  {[]string{good}, []string{many(32)}, []string{many(64)}, true, many(32), many(64)},
			"180 members":                 {[]string{good}, []string{many(180)}, []string{many(180)}, true, "", ""},
			"8 KB":                        {[]string{good}, []string{"a=" + strings.Repeat("x", 8<<10)}, []string{"c=" + strings.Repeat("x", 8190)}, true, "", "c=" + strings.Repeat("x", 8190)},
			"more than 8 KB":              {[]string{good}, nil, []string{"c=" + strings.Repeat("x", 8191)}, true, "", ""},
			"a baggage alone":             {nil, nil, []string{"c=3"}, false, "", "c=3"},
			"nonsense":                    {[]string{";"}, []string{"=,="}, []string{"=;=,"}, false, "", ""},
			"two traceparents":            {[]string{good, good}, []string{"a=1"}, nil, false, "", ""},
			"upper case":                  {[]string{strings.ToUpper(good)}, nil, nil, false, "", ""},
			"a trace of zeros":            {[]string{"00-" + strings.Repeat("0", 32) + good[35:]}, nil, nil, false, "", ""},
			"a span of zeros":             {[]string{good[:36] + strings.Repeat("0", 16) + "-01"}, nil, nil, false, "", ""},
			"version ff":                  {[]string{"ff" + good[2:]}, nil, nil, false, "", ""},
			"a later version":             {[]string{"cc" + good[2:] + "-what-comes"}, nil, nil, true, "", ""},
			"a traceparent of many bytes": {[]string{strings.Repeat(good, 100)}, nil, nil, false, "", ""},
		} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"/v1/chat/completions", strings.NewReader(fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Hello."}]}`, vendors.Model(vendors.Answer, "traced", 5))))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"Authorization": {"Bearer " + r.Keys["chat"]}, "Traceparent": c.parents, "Tracestate": c.states, "Baggage": c.bags}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %d %s %v", name, resp.StatusCode, body, err)
				continue
			}
			h := seen.at(-1)
			if continued := strings.HasPrefix(h.Get("Traceparent"), "00-"+callersTrace+"-"); continued != c.continued || h.Get("Tracestate") != c.state || h.Get("Baggage") != c.bag || len(h["Traceparent"]) > 1 {
				t.Errorf("%s: the upstream got %q, %q, %q", name, h["Traceparent"], h["Tracestate"], h["Baggage"])
			}
			if parent := h.Get("Traceparent"); parent != "" {
				if _, err := hex.DecodeString(strings.ReplaceAll(parent, "-", "")); err != nil || len(parent) != len(good) {
					t.Errorf("%s: the upstream got the traceparent %q", name, parent)
				}
			}
		}
	})
}
