package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway"
)

// The key travels as authorization metadata, wherever it came from, and nothing
// else of the caller's headers does.
func TestKeyPlaces(t *testing.T) {
	e := serve(t, nil)
	for _, c := range []struct {
		name, protocol, query string
		header                http.Header
		status                int
	}{
		{"bearer", "chat", "", http.Header{"Authorization": {"Bearer secret-key"}}, 200},
		{"bearer in lower case", "chat", "", http.Header{"Authorization": {"bearer secret-key"}}, 200},
		{"no scheme", "chat", "", http.Header{"Authorization": {"secret-key"}}, 401},
		{"another scheme", "chat", "", http.Header{"Authorization": {"Basic secret-key"}}, 401},
		{"x-api-key on chat", "chat", "", http.Header{"X-Api-Key": {"secret-key"}}, 401},
		{"x-api-key", "messages", "", http.Header{"X-Api-Key": {"secret-key"}, "Anthropic-Version": {"2023-06-01"}}, 200},
		{"bearer on messages, newest version", "messages", "", http.Header{"Authorization": {"Bearer secret-key"}, "Anthropic-Version": {"2026-10-21"}}, 200},
		{"neutral version header", "messages", "", http.Header{"X-Api-Key": {"secret-key"}, "Vendorb-Version": {"2023-06-01"}}, 200},
		{"vendor's header", "generatecontent", "", http.Header{"X-Goog-Api-Key": {"secret-key"}}, 200},
		{"neutral header", "generatecontent", "", http.Header{"X-Vendorc-Api-Key": {"secret-key"}}, 200},
		{"query", "generatecontent", "?key=secret%2Dkey&alt=json", http.Header{}, 200},
		{"bearer on generateContent", "generatecontent", "", http.Header{"Authorization": {"Bearer secret-key"}}, 403},
		{"not printable", "chat", "", http.Header{"Authorization": {"Bearer secret\x80key"}}, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range protocols {
				if p.name != c.protocol {
					continue
				}
				c.header.Set("Content-Type", "application/json")
				c.header.Set("Grpc-Metadata-Genway-Edge-Secret", "smuggled")
				c.header.Set("Grpc-Timeout", "1n")
				c.header.Set("X-Http-Method-Override", "GET")
				r := e.do(t, http.MethodPost, p.path+c.query, c.header, p.body)
				if r.status != c.status {
					t.Fatalf("got %d %s", r.status, r.body)
				}
				if c.status != http.StatusOK {
					return
				}
				md := e.core.metadata()
				if got := md.Get("authorization"); len(got) != 1 || got[0] != "Bearer secret-key" {
					t.Errorf("authorization is %v", got)
				}
				delete(md, "authorization")
				for name, values := range md {
					if strings.Contains(strings.Join(values, " "), "secret-key") || strings.Contains(strings.Join(values, " "), "smuggled") {
						t.Errorf("%s carries %v", name, values)
					}
				}
				if md.Get("genway-protocol") == nil || md.Get("x-request-id")[0] != "req_test" {
					t.Errorf("metadata %v", md)
				}
			}
		})
	}
	// Case K1.
	if strings.Contains(e.log.String(), "secret-key") || strings.Contains(e.log.String(), "secret%2Dkey") {
		t.Errorf("a key is in the log:\n%s", e.log)
	}
}

func TestVersionHeader(t *testing.T) {
	e := serve(t, nil)
	for version, status := range map[string]int{"": 400, "2023-06-01": 200, "2026-10-21": 200, "2023-05-31": 400, "latest": 400, "2023-6-1": 400} {
		h := http.Header{"X-Api-Key": {"k"}}
		if version != "" {
			h.Set("Anthropic-Version", version)
		}
		r := e.do(t, http.MethodPost, "/v1/messages", h, protocols[2].body)
		if r.status != status {
			t.Errorf("%q gets %d %s", version, r.status, r.body)
		}
		if status == http.StatusBadRequest {
			native(t, "messages", r, status)
			if !strings.Contains(r.body, "anthropic-version") {
				t.Errorf("%q: the header is not named: %s", version, r.body)
			}
		}
	}
}

func TestHeaderNamesAreConfiguration(t *testing.T) {
	e := serve(t, func(c *gateway.Config) {
		c.Headers = gateway.Headers{
			Keys:     map[string][]string{"messages": {"x-house-key"}, "generatecontent": {"x-other-key"}},
			Versions: map[string][]string{"messages": {"house-version"}},
		}
	})
	if r := e.do(t, http.MethodPost, "/v1/messages", http.Header{"X-House-Key": {"k"}, "House-Version": {"2023-06-01"}}, protocols[2].body); r.status != http.StatusOK {
		t.Errorf("got %d %s", r.status, r.body)
	}
	if r := e.do(t, http.MethodPost, "/v1/messages", right("messages"), protocols[2].body); r.status != http.StatusUnauthorized {
		t.Errorf("the default's header gets %d", r.status)
	}
	if r := e.do(t, http.MethodPost, protocols[3].path, http.Header{"X-Other-Key": {"k"}}, protocols[3].body); r.status != http.StatusOK {
		t.Errorf("got %d %s", r.status, r.body)
	}
}

// Three protocols share /v1/models; the key's header distinguishes them.
func TestModelLists(t *testing.T) {
	e := serve(t, nil)
	for _, c := range []struct{ protocol, path, says string }{
		{"chat", "/v1/models", `"object":"list"`},
		{"messages", "/v1/models", `"has_more":false`},
		{"messages", "/v1/models?limit=1", `"has_more":true`},
		{"generatecontent", "/v1/models", `"models/a"`},
		{"generatecontent", "/v1beta/models", `"models/a"`},
		{"generatecontent", "/v1beta/models?pageSize=1", `"nextPageToken":"a"`},
		{"chat", "/v1/models/a", `"id":"a"`},
		{"messages", "/v1/models/a", `"type":"model"`},
		{"generatecontent", "/v1beta/models/a", `"name":"models/a"`},
		{"generatecontent", "/v1/models/a/b", `"name":"models/a/b"`},
	} {
		r := e.do(t, http.MethodGet, c.path, right(c.protocol), "")
		if r.status != http.StatusOK || !strings.Contains(r.body, c.says) {
			t.Errorf("%s %s: %d %s", c.protocol, c.path, r.status, r.body)
		}
	}
	native(t, "chat", e.do(t, http.MethodGet, "/v1/models?limit=x", right("chat"), ""), http.StatusBadRequest)
}

// A caller without a good key learns that, not what is wrong with its body.
func TestKeysComeBeforeBodies(t *testing.T) {
	e := serve(t, nil)
	e.core.fail = detailed(fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key"))
	for _, p := range protocols {
		r := e.do(t, http.MethodPost, p.path, right(p.name), "{")
		native(t, p.name, r, map[bool]int{true: 400, false: 401}[p.name == "generatecontent" || p.name == "interactions"])
		if !strings.Contains(r.body, "invalid API key") {
			t.Errorf("%s: %s", p.name, r.body)
		}
	}
	e.core.fail = detailed(fault.New(fault.Overloaded, "X", "busy"))
	for _, p := range protocols {
		native(t, p.name, e.do(t, http.MethodPost, p.path, right(p.name), "{"), http.StatusBadRequest)
	}
}
