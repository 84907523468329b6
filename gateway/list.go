package gateway

import (
	"net/http"
	"net/url"
)

// wholeList is how many models a page has of a protocol whose list has no pages.
const wholeList = "100000"

// listPage rewrites the paging parameters of the protocols that list models (limit and
// after_id; pageSize and pageToken) to the fields of ListModelsRequest, and drops all
// others. Callers of a protocol whose list has no pages get the whole list unless they ask
// for less.
func listPage(r *http.Request, paged bool) {
	asked, page := r.URL.Query(), url.Values{}
	if !paged {
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
