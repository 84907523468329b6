package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
)

// A failure of a key says where it was read and what a key looks like, in the names that
// the caller has used, and never what was sent.
func TestKeyFailuresSayWhatToLookAt(t *testing.T) {
	e := serve(t, nil)
	const sent = "sk-secret-of-another"
	version := []string{"2023-06-01"}
	for _, c := range []struct {
		name, protocol, query, want string
		header                      http.Header
		missing                     bool
	}{
		{"bearer", "chat", "", "invalid API key in the header authorization (Bearer)", http.Header{"Authorization": {"Bearer " + sent}}, false},
		{"header of messages", "messages", "", "invalid API key in the header x-api-key", http.Header{"X-Api-Key": {sent}, "Anthropic-Version": version}, false},
		{"bearer of messages", "messages", "", "invalid API key in the header authorization (Bearer)", http.Header{"Authorization": {"Bearer " + sent}, "Anthropic-Version": version}, false},
		{"header of generateContent", "generatecontent", "", "invalid API key in the header x-goog-api-key", http.Header{"X-Goog-Api-Key": {sent}}, false},
		{"neutral header", "generatecontent", "", "invalid API key in the header x-vendorc-api-key", http.Header{"X-Vendorc-Api-Key": {sent}}, false},
		{"query", "generatecontent", "?key=" + sent, "invalid API key in the query parameter key", http.Header{}, false},
		{"not printable", "chat", "", "invalid API key in the header authorization (Bearer)", http.Header{"Authorization": {"Bearer " + sent + "\x80"}}, false},
		{"no key for chat", "chat", "", "no API key was sent; put it into the header authorization, as Bearer", http.Header{}, true},
		{"no key for messages", "messages", "", "no API key was sent; put it into the header x-api-key, or authorization, as Bearer", http.Header{}, true},
		{"no key for generateContent", "generatecontent", "", "no API key was sent; put it into the header x-goog-api-key or x-vendorc-api-key, or the query parameter key", http.Header{}, true},
		{"another protocol's header", "chat", "", "x-api-key is not read here", http.Header{"X-Api-Key": {sent}}, true},
		{"no scheme", "chat", "", "the header authorization has no Bearer ahead of the key", http.Header{"Authorization": {sent}}, true},
	} {
		e.core.fail = detailed(fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key"))
		for _, p := range protocols {
			if p.name != c.protocol {
				continue
			}
			r := e.do(t, http.MethodPost, p.path+c.query, c.header, p.body)
			text, _ := failure(t, r)
			if !strings.Contains(text, c.want) || !c.missing && !strings.Contains(text, "gwk_") || strings.Contains(r.body, "secret") {
				t.Errorf("%s: %q", c.name, text)
			}
		}
	}
}

// So does a failure of a version.
func TestVersionFailuresNameTheCallersHeader(t *testing.T) {
	e := serve(t, nil)
	for header, want := range map[string]string{"Vendorb-Version": `vendorb-version: "old" is not`, "Anthropic-Version": `anthropic-version: "old" is not`} {
		r := e.do(t, http.MethodPost, "/v1/messages", http.Header{"X-Api-Key": {"k"}, header: {"old"}}, protocols[2].body)
		if text, _ := failure(t, r); r.status != http.StatusBadRequest || !strings.HasPrefix(text, want) {
			t.Errorf("%d %q", r.status, text)
		}
	}
	r := e.do(t, http.MethodPost, "/v1/messages", http.Header{"X-Api-Key": {"k"}}, protocols[2].body)
	if text, _ := failure(t, r); text != "anthropic-version: header is required (vendorb-version is read as well)" {
		t.Errorf("%q", text)
	}
}
