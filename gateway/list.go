package gateway

import (
	"net/http"
	"net/url"
)

// listPage rewrites the paging parameters of the three protocols that list models
// (limit and after_id; pageSize and pageToken) to the fields of
// ListModelsRequest, and drops all others.
func listPage(r *http.Request) {
	asked, page := r.URL.Query(), url.Values{}
	for _, name := range []string{"limit", "pageSize", "page_size"} {
		if v := asked.Get(name); v != "" {
			page.Set("page_size", v)
		}
	}
	for _, name := range []string{"after_id", "after", "pageToken", "page_token"} {
		if v := asked.Get(name); v != "" {
			page.Set("page_token", v)
		}
	}
	r.URL.RawQuery = page.Encode()
}
