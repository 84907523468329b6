package gateway

import (
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/protocol"
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
func listPage(x *exchange, r *http.Request) error {
	asked, page := r.URL.Query(), url.Values{}
	if !x.endpoint.protocol.PagedModels {
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

// storedQuery rewrites the query of a request for an answer that is stored: stream asks for its events, and the protocol's own
// parameter for those after one (protocol.Protocol.ResumeQuery).
// All other parameters are dropped: what an answer may include is what it had when it was made (include, include_obfuscation).
func storedQuery(x *exchange, r *http.Request) error {
	after := x.endpoint.protocol.ResumeQuery
	asked, err := wholeQuery(r)
	if err != nil {
		return err
	}
	for _, name := range []string{"stream", after} {
		if len(asked[name]) > 1 {
			return fault.Invalid(name, "%s: expected one value, got %d", name, len(asked[name]))
		}
	}
	r.URL.RawQuery = ""
	switch v := asked.Get("stream"); v {
	case "true":
		x.streamed, x.resumed = true, true
		r.URL.Path += protocol.StreamSuffix
	case "", "false":
		if asked.Has(after) {
			return fault.Invalid(after, "%s: is for streams; add stream=true", after)
		}
		return nil
	default:
		return fault.Invalid("stream", "stream: expected true or false, got %q", clip(v, maxShown))
	}
	if asked.Has(after) {
		v := asked.Get(after)
		if n, err := strconv.ParseUint(v, 10, 63); err != nil || n == math.MaxInt64 {
			return fault.Invalid(after, "%s: expected the number of an event, got %q", after, clip(v, maxShown))
		}
		r.URL.RawQuery = url.Values{"starting_after": {v}}.Encode()
	}
	return nil
}

// wholeQuery returns the parameters of a query. One that cannot be read is refused: a parameter would be missing.
func wholeQuery(r *http.Request) (url.Values, error) {
	asked, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidRequest, fault.ReasonInvalidMember, "the query cannot be read: each parameter is NAME=VALUE, percent-encoded, with & between two of them")
	}
	return asked, nil
}

// noQuery drops the query of a request that takes none.
func noQuery(_ *exchange, r *http.Request) error {
	r.URL.RawQuery = ""
	return nil
}

// inputPage rewrites the parameters of a list of input items (limit, after, order) to the fields of ListInputItemsRequest, and
// drops all others. The list is paged only forwards.
func inputPage(_ *exchange, r *http.Request) error {
	asked, err := wholeQuery(r)
	if err != nil {
		return err
	}
	page := url.Values{}
	for _, name := range []string{"limit", "after", "order"} {
		if len(asked[name]) > 1 {
			return fault.Invalid(name, "%s: expected one value, got %d", name, len(asked[name]))
		}
	}
	if v := asked.Get("limit"); v != "" {
		if n, err := strconv.ParseUint(v, 10, 16); err != nil || n < 1 || n > codec.MaxInputPage {
			return fault.Invalid("limit", "limit: expected a whole number of 1 to %d, got %q", codec.MaxInputPage, clip(v, maxShown))
		}
		page.Set("page_size", v)
	}
	if v := asked.Get("after"); v != "" {
		page.Set("page_token", v)
	}
	switch v := asked.Get("order"); v {
	case "", "desc":
	case "asc":
		page.Set("oldest_first", "true")
	default:
		return fault.Invalid("order", "order: expected asc or desc, got %q", clip(v, maxShown))
	}
	if asked.Has("before") {
		return fault.Invalid("before", "before: this server pages lists only forwards; use after, and order")
	}
	r.URL.RawQuery = page.Encode()
	return nil
}
