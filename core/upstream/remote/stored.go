package remote

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// storedWithin bounds a call about an answer that the upstream stores.
const storedWithin = 30 * time.Second

// Stored makes a call about an answer that the upstream stores, and returns the body of what it says. Refusals are those of a
// caller of its protocol. Redirects are not followed.
func (u *Upstream) Stored(ctx context.Context, about upstream.Stored) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, storedWithin)
	defer cancel()
	address := *u.address(protocol.Generate, "")
	address.RawPath = address.EscapedPath() + "/" + url.PathEscape(about.ID) + about.Verb
	address.Path += "/" + about.ID + about.Verb
	query := address.Query()
	for name, value := range about.Query {
		query.Set(name, value)
	}
	address.RawQuery = query.Encode()
	req := u.blank.WithContext(ctx)
	req.Method, req.URL, req.Header = about.Method, &address, u.headers(nil).Clone()
	req.Header.Del("Content-Type")
	req.Header.Del("Accept-Encoding")
	if _, err := u.authorize(req, nil); err != nil { //nolint:bodyclose // without a body no answer is given back
		return nil, err
	}
	resp, err := u.config.HTTP.RoundTrip(req)
	if err != nil {
		return nil, u.interrupted(ctx, err)
	}
	defer resp.Body.Close()
	a := &answer{upstream: u, record: call.Of(ctx), ctx: ctx, body: resp.Body}
	u.note(ctx, resp.Header, nil)
	if resp.StatusCode/100 != 2 {
		return nil, u.refused(a, resp, &genwayv1.WireMessage{Protocol: u.config.Protocol})
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, u.config.MaxAnswerBytes+1))
	switch {
	case err != nil:
		return nil, u.interrupted(ctx, err)
	case int64(len(body)) > u.config.MaxAnswerBytes || !isJSON(body):
		return nil, fault.MalformedAnswer(fmt.Errorf("%s: %d bytes, or no JSON", about.Method, len(body)))
	}
	return body, nil
}
