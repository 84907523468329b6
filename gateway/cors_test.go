package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway"
	"github.com/genway/genway/internal/transport/inproc"
)

const page = "https://app.example"

// sdkHeaders are what the SDKs of the vendors send from a browser.
var sdkHeaders = []string{
	"authorization", "content-type", "x-api-key", "x-goog-api-key", "x-goog-api-client", "x-vendorc-api-key", "vendorb-version",
	"anthropic-version", "anthropic-beta", "anthropic-dangerous-direct-browser-access", "openai-organization", "openai-project", "openai-beta",
	"x-stainless-arch", "x-stainless-lang", "x-stainless-os", "x-stainless-package-version", "x-stainless-retry-count",
	"x-stainless-runtime", "x-stainless-runtime-version", "x-stainless-timeout", "x-stainless-helper-method", "idempotency-key", "x-client-request-id",
}

func (e *edge) preflight(t *testing.T, path, origin, method string) reply {
	t.Helper()
	return e.do(t, http.MethodOptions, path, http.Header{"Origin": {origin}, "Access-Control-Request-Method": {method},
		"Access-Control-Request-Headers": {strings.Join(sdkHeaders, ",")}}, "")
}

// A page of an origin that is allowed may call every path with what SDKs send; one of
// another may not, nor anyone where no origin is.
func TestPreflights(t *testing.T) {
	for _, c := range []struct {
		allowed  []string
		origin   string
		answered string
	}{
		{[]string{page}, page, page},
		{[]string{"http://localhost:5173", page}, page, page},
		{[]string{"*"}, page, "*"},
		{[]string{"*"}, "null", "*"},
		{[]string{page}, "https://evil.example", ""},
		{[]string{page}, page + ".evil.example", ""},
		{[]string{page}, "http://app.example", ""},
		{[]string{page}, "null", ""},
	} {
		e := serve(t, func(config *gateway.Config) { config.CORSOrigins = c.allowed })
		for _, p := range protocols {
			r := e.preflight(t, p.path, c.origin, http.MethodPost)
			if r.status != http.StatusNoContent || r.body != "" || r.header.Get("Access-Control-Allow-Origin") != c.answered {
				t.Errorf("%v, %s: %d %v", c.allowed, c.origin, r.status, r.header)
			}
			headers := "," + strings.ReplaceAll(strings.ToLower(r.header.Get("Access-Control-Allow-Headers")), " ", "") + ","
			for _, name := range sdkHeaders {
				if strings.Contains(headers, ","+name+",") != (c.answered != "") {
					t.Errorf("%v, %s: %s in %s", c.allowed, c.origin, name, headers)
				}
			}
			if r.header.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("credentials are allowed: %v", r.header)
			}
		}
		if r := e.preflight(t, "/v1/models", c.origin, http.MethodGet); c.answered != "" && r.header.Get("Access-Control-Allow-Methods") != http.MethodGet {
			t.Errorf("%v", r.header)
		}
		if r := e.preflight(t, "/v1/responses/resp_1", c.origin, http.MethodDelete); c.answered != "" && r.header.Get("Access-Control-Allow-Methods") != http.MethodDelete {
			t.Errorf("%v", r.header)
		}
		if r := e.preflight(t, "/v1/models", c.origin, http.MethodPut); r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("PUT is allowed: %v", r.header)
		}
	}
	e := serve(t, nil)
	for _, p := range protocols {
		native(t, p.name, e.preflight(t, p.path, page, http.MethodPost), http.StatusMethodNotAllowed)
	}
}

// What comes to such a page it can read: answers, streams and errors of every layer, and
// their headers.
func TestAnswersToPages(t *testing.T) {
	e := serve(t, func(c *gateway.Config) { c.CORSOrigins = []string{page} })
	for _, p := range append(slices.Clip(protocols),
		struct{ name, path, body string }{"chat", streamed[0].path, streamed[0].body}, struct{ name, path, body string }{"messages", streamed[2].path, streamed[2].body}) {
		for name, change := range map[string]func(h http.Header, path, body *string) error{
			"answer": func(http.Header, *string, *string) error { return nil },
			"no key": func(h http.Header, _, _ *string) error {
				h.Del("Authorization")
				h.Del("X-Api-Key")
				h.Del("X-Goog-Api-Key")
				return nil
			},
			"unknown path": func(_ http.Header, path, _ *string) error { *path = "/v1/nothing"; return nil },
			"no JSON":      func(_ http.Header, _, body *string) error { *body = "{"; return nil },
			"busy": func(http.Header, *string, *string) error {
				return detailed(fault.New(fault.RateLimited, "X", "slow down"))
			},
		} {
			h, path, body := right(p.name), p.path, p.body
			h.Set("Origin", page)
			e.core.fail = change(h, &path, &body)
			r := e.do(t, http.MethodPost, path, h, body)
			exposed := strings.ToLower(r.header.Get("Access-Control-Expose-Headers"))
			if r.header.Get("Access-Control-Allow-Origin") != page || !strings.Contains(strings.Join(r.header.Values("Vary"), ","), "Origin") || r.header.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s, %s: %d %v", p.path, name, r.status, r.header)
			}
			for _, header := range []string{"x-request-id", "request-id", "retry-after", "retry-after-ms", "x-should-retry", "x-genway-lost", "x-genway-upstream",
				"x-ratelimit-remaining-requests", "anthropic-ratelimit-tokens-reset"} {
				if !strings.Contains(exposed, header) {
					t.Errorf("%s is not exposed: %s", header, exposed)
				}
			}
		}
	}
	// Others are answered, too: it is their browsers that keep the answer from them.
	h := right("chat")
	h.Set("Origin", "https://evil.example")
	e.core.fail = nil
	if r := e.do(t, http.MethodPost, protocols[0].path, h, protocols[0].body); r.status != http.StatusOK || r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%d %v", r.status, r.header)
	}
}

// What is no origin does not start an edge.
func TestWrongOrigins(t *testing.T) {
	for _, origin := range []string{"", "app.example", "https://app.example/", "https://app.example/path", "https://*.example", "https://u:p@app.example",
		"https://app.example?x", "null", "https://", "https://App.Example", "https://app.example:443x", "https://a b", "*,"} {
		if _, err := gateway.New(gateway.Config{Core: new(inproc.Channel), CORSOrigins: []string{origin}}); err == nil || !strings.Contains(err.Error(), "origin") {
			t.Errorf("%q: %v", origin, err)
		}
	}
	for _, origin := range []string{"*", "https://app.example", "http://localhost:5173", "http://[::1]:80", "tauri://localhost", "chrome-extension://abcdef"} {
		if _, err := gateway.New(gateway.Config{Core: new(inproc.Channel), CORSOrigins: []string{origin}}); err != nil {
			t.Errorf("%q: %v", origin, err)
		}
	}
}
