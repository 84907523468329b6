package gateway_test

import (
	"net/http"
	"strings"
	"testing"
)

// Parameters of the query that this server cannot do as they are meant are refused by their names,
// and the two framings of a stream are asked for as the vendor documents.
func TestU47Queries(t *testing.T) {
	e := serve(t, nil)
	for _, c := range []struct{ protocol, query, says string }{
		{"messages", "before_id=b", "before_id: this server pages lists only forwards; use after_id"},
		{"messages", "limit=abc", `limit: expected a whole number, got \"abc\"`},
		{"messages", "limit=9999999999", `limit: expected a whole number, got \"9999999999\"`},
		{"chat", "limit=1.5", `"param":"limit"`},
		{"generatecontent", "pageSize=x", `pageSize: expected a whole number, got \"x\"`},
	} {
		path := "/v1/models?"
		if c.protocol == "generatecontent" {
			path = "/v1beta/models?"
		}
		r := e.do(t, http.MethodGet, path+c.query, right(c.protocol), "")
		if native(t, c.protocol, r, http.StatusBadRequest); !strings.Contains(r.body, c.says) {
			t.Errorf("%s %s: %s", c.protocol, c.query, r.body)
		}
	}
	for query, want := range map[string]string{
		"": "[", "alt=json": "[", "alt=": "[", "$alt=json": "[", "zzz=%ff": "[", "alt=sse": "data: ", "%24alt=sse": "data: ", "alt=sse&zzz": "data: ",
	} {
		r := e.do(t, http.MethodPost, "/v1beta/models/m:streamGenerateContent?"+query, right("generatecontent"), protocols[3].body)
		if r.status != http.StatusOK || !strings.HasPrefix(r.body, want) {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
	for _, query := range []string{"alt=proto", "alt=SSE", "$alt=media"} {
		r := e.do(t, http.MethodPost, "/v1beta/models/m:streamGenerateContent?"+query, right("generatecontent"), protocols[3].body)
		if native(t, "generatecontent", r, http.StatusBadRequest); !strings.Contains(r.body, "alt: expected json or sse, got") {
			t.Errorf("%s: %s", query, r.body)
		}
	}
	for _, query := range []string{"key=k&key=other", "key=k&key=k", "key=&key=k"} {
		r := e.do(t, http.MethodPost, protocols[3].path+"?"+query, http.Header{}, protocols[3].body)
		if r.status == http.StatusOK || !strings.Contains(r.body, "the query parameter key is there 2 times; send one API key") {
			t.Errorf("two keys: %d %s", r.status, r.body)
		}
	}
	twice := right("chat")
	twice["Authorization"] = []string{"Bearer k", "Bearer k"}
	r := e.do(t, http.MethodPost, protocols[0].path, twice, protocols[0].body)
	if native(t, "chat", r, http.StatusUnauthorized); !strings.Contains(r.body, "the header authorization is there 2 times; send one API key") {
		t.Errorf("two keys: %s", r.body)
	}
}
