package lifecycle

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/server"
)

// TestBrowsers asks as a browser does for a page: a preflight, then a call with a wrong
// key, whose error the page must be able to read. So do one process and two.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	const page = "https://app.example"
	flags := []string{"--cors-origin", page, "--cors-origin=http://localhost:5173"}
	for name, options := range map[string]server.Options{
		"one process": {Args: flags}, "two processes": {TwoProcess: true, EdgeArgs: flags},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server.Start(t, options)
			for _, origin := range []string{page, "http://localhost:5173", "https://evil.example"} {
				for _, method := range []string{http.MethodOptions, http.MethodPost} {
					req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/v1/messages", strings.NewReader("{}"))
					if err != nil {
						t.Fatal(err)
					}
					keyed(req.Header, "messages", "gwk_wrong")
					req.Header.Set("Origin", origin)
					want := http.StatusUnauthorized
					if method == http.MethodOptions {
						req.Header = http.Header{"Origin": {origin}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"anthropic-version,x-api-key"}}
						want = http.StatusNoContent
					}
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
					allowed := resp.Header.Get("Access-Control-Allow-Origin")
					if resp.StatusCode != want || (allowed == origin) != (origin != "https://evil.example") {
						t.Errorf("%s from %s: %d %v", method, origin, resp.StatusCode, resp.Header)
					}
				}
			}
		})
	}
}
