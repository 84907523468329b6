package remote

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"syscall"
	"time"
)

// An HTTP/1.1 upstream may close a connection that it has said to keep, at any moment: also
// while a request is on its way. Then the gateway cannot know whether the request was
// read, so it must not be sent again. What can be done is to send none into a connection
// that is about to close, and to know for sure of as many as possible that not one byte
// went out:
//
//   - A pooled connection is looked at before it is written to. One that the other side
//     has closed is refused, and net/http takes another.
//   - One that has been idle for almost as long as upstreams keep them is not used.
//   - Until an upstream has proved that it keeps connections, one that has only just
//     served is watched for a moment first: upstreams that close do so right behind
//     the answer. One of an upstream that was seen to do that is not used at once.
//   - A request of which nothing was written before its connection turned out to be closed
//     is sent once more, over a new connection.
//
// HTTP/2 says which requests were not read (RFC 9113, 6.8), and net/http sends those again.

// roundTrip sends a request, and sends it again over a new connection if it did not leave
// over the pooled one: that is no retry of a call that failed, and no matter of the
// operator's.
func (u *Upstream) roundTrip(a *answer, req *http.Request) (resp *http.Response, err error) {
	sent := time.Now()
	defer func() { a.answered(req, resp, sent) }()
	resp, err = u.config.HTTP.RoundTrip(req)
	unsent := a.unsent(err)
	switch {
	case err == nil && !unsent:
		a.served(resp)
		return resp, nil
	case err == nil:
		// The upstream sent why it closes, and net/http took that for the answer.
		_ = resp.Body.Close()
		err = errRefused
	case a.pooled && hungUp(err):
		u.trusts[a.after].lose()
	}
	if !unsent || a.ctx.Err() != nil {
		return nil, err
	}
	body, failed := req.GetBody()
	if failed != nil {
		return nil, err
	}
	again := *req
	again.Body = body
	return u.fresh().RoundTrip(&again)
}

// fresh gives a transport whose connections are new ones.
func (u *Upstream) fresh() http.RoundTripper {
	u.freshOnce.Do(func() {
		u.freshHTTP = u.config.HTTP
		if t, ok := u.config.HTTP.(*http.Transport); ok {
			unpooled := t.Clone()
			unpooled.DisableKeepAlives = true
			u.freshHTTP = unpooled
		}
	})
	return u.freshHTTP
}

// gotConn is called with each connection over which the call is about to be sent.
func (a *answer) gotConn(info httptrace.GotConnInfo) {
	defer a.record.Connected()
	a.pooled, a.conn = info.Reused, connOf(info.Conn)
	c := a.conn
	if c == nil {
		return
	}
	a.after, c.after = c.after, a.kind
	if a.pooled && !a.usable(c, info) {
		c.refused.Store(true)
	}
	a.before = c.written.Load()
}

// usable reports whether a pooled connection may be used.
func (a *answer) usable(c *conn, info httptrace.GotConnInfo) bool {
	_, encrypted := info.Conn.(*tls.Conn)
	if info.IdleTime > idleMost(time.Duration(c.keep.Load()), encrypted) {
		return false
	}
	trust := &a.upstream.trusts[a.after]
	if watch := settles - info.IdleTime; watch > 0 && !trust.has() {
		if trust.barred() {
			return false
		}
		timer := time.NewTimer(watch)
		select {
		case <-c.closed:
		case <-timer.C:
		case <-a.ctx.Done():
		}
		timer.Stop()
	}
	if c.dead() {
		if info.IdleTime < young {
			trust.lose()
		}
		return false
	}
	return true
}

// unsent reports whether nothing of the call has left: not one byte was written to its
// pooled connection. The name is net/http's for a connection that was closed before the
// call began; over TLS the close itself writes.
func (a *answer) unsent(err error) bool {
	if !a.pooled {
		return false
	}
	return a.conn != nil && (a.conn.refused.Load() || a.conn.written.Load() == a.before) || err != nil && err.Error() == "http: server closed idle connection"
}

// served notes that a connection which had served before did so again, and how long the
// upstream says that it keeps it.
func (a *answer) served(resp *http.Response) {
	if a.conn == nil {
		return
	}
	if a.pooled {
		a.upstream.trusts[a.after].gain()
	}
	a.conn.keep.Store(int64(keepAlive(resp.Header)))
}

// connOf gives the connection below TLS; nil for one that is not ours, and for HTTP/2.
func connOf(c net.Conn) *conn {
	if encrypted, ok := c.(*tls.Conn); ok {
		if encrypted.ConnectionState().NegotiatedProtocol == "h2" {
			return nil
		}
		c = encrypted.NetConn()
	}
	ours, _ := c.(*conn)
	return ours
}

// hungUp reports whether the other side closed the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
