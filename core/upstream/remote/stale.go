package remote

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"time"
)

// staleWithin is how soon a connection that died in the pool shows it: the write goes
// into the void, and the other side's reset comes back.
const staleWithin = time.Second

// roundTrip sends a request. One that went into a pooled connection which the upstream
// had closed meanwhile was never read, so it is sent again: that is no retry of a call
// that failed, and no matter of the operator's. The transport does so itself only if it
// hears of the end before it has written anything.
func (u *Upstream) roundTrip(a *answer, req *http.Request) (*http.Response, error) {
	for again := maxStale; ; again-- {
		begun := time.Now()
		resp, err := u.config.HTTP.RoundTrip(req)
		if err == nil || again == 0 || !a.pooled || !hungUp(err) || time.Since(begun) > staleWithin || a.ctx.Err() != nil {
			return resp, err
		}
		body, failed := req.GetBody()
		if failed != nil {
			return nil, err
		}
		next := *req
		next.Body = body
		req = &next
	}
}

// maxStale bounds how many dead connections in a row a call may meet.
const maxStale = 4

// hungUp reports whether the other side closed the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
