package gateway

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/genway/genway/codec/fault"
)

// maxShown bounds what an error repeats of a query parameter, in bytes.
const maxShown = 60

// wholeList is how many models a page has of a protocol whose list has no pages.
const wholeList = "100000"

// listPage rewrites the paging parameters of the protocols that list models (limit and
// after_id; pageSize and pageToken) to the fields of ListModelsRequest, and drops all
// others. Callers of a protocol whose list has no pages get the whole list unless they ask
// for less. Lists are paged only forwards: a caller that went backwards would get the first
// page again and again.
func listPage(r *http.Request, paged bool) error {
	asked, page := r.URL.Query(), url.Values{}
	if !paged {
		page.Set("page_size", wholeList)
	}
	for _, name := range []string{"limit", "pageSize", "page_size"} {
		if v := asked.Get(name); v != "" {
			if _, err := strconv.ParseInt(v, 10, 32); err != nil {
				return fault.Invalid(name, "%s: expected a whole number, got %q", name, clip(v, maxShown))
			}
			page.Set("page_size", v)
		}
	}
	for _, name := range []string{"after_id", "after", "pageToken", "page_token"} {
		if v := asked.Get(name); v != "" {
			page.Set("page_token", v)
		}
	}
	if asked.Get("before_id") != "" {
		return fault.Invalid("before_id", "before_id: this server pages lists only forwards; use after_id")
	}
	r.URL.RawQuery = page.Encode()
	return nil
}
