package gateway

import (
	"net/http"
	"net/url"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// wholeList is how many models a page has of a protocol whose list has no pages.
const wholeList = "100000"

// listPage rewrites the paging parameters of the three protocols that list models
// (limit and after_id; pageSize and pageToken) to the fields of
// ListModelsRequest, and drops all others. Vendor A's list has no pages: its callers
// get the whole list unless they ask for less.
func listPage(r *http.Request, protocol genwayv1.Protocol) {
	asked, page := r.URL.Query(), url.Values{}
	if protocol != genwayv1.Protocol_PROTOCOL_MESSAGES && protocol != genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT {
		page.Set("page_size", wholeList)
	}
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
