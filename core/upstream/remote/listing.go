package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// maxListBytes bounds a page of an upstream's list of models.
const maxListBytes = 8 << 20

// ListModels asks the upstream for a page of its list of models, at the path of its protocol. It
// implements discover.Lister. Redirects are not followed. The error has no text of the answer, which
// may repeat credentials.
func (u *Upstream) ListModels(ctx context.Context, token string) (*genwayv1.ListModelsResponse, error) {
	req := u.blank.WithContext(ctx)
	req.Method, req.URL, req.Header = http.MethodGet, u.listAddress(token), u.headers(nil).Clone()
	req.Header.Del("Content-Type")
	req.Header.Del("Accept-Encoding")                // that the configuration may set: a page is small, and decompression would have to be bounded
	if _, err := u.authorize(req, nil); err != nil { //nolint:bodyclose // without a body no answer is given back
		return nil, err
	}
	resp, err := u.config.HTTP.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", req.URL.Path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: the upstream answered %d", req.URL.Path, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxListBytes+1))
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", req.URL.Path, err)
	}
	if len(body) > maxListBytes {
		return nil, fmt.Errorf("GET %s: the list has more than %d bytes", req.URL.Path, maxListBytes)
	}
	return u.protocol.Upstream.Listing.Decode(body)
}

// listAddress is the URL of a page of the list.
func (u *Upstream) listAddress(token string) *url.URL {
	address := *u.address(protocol.ListModels, "")
	query := address.Query()
	for name, value := range u.protocol.Upstream.Listing.Query(token) {
		query.Set(name, value)
	}
	address.RawQuery = query.Encode()
	return &address
}
