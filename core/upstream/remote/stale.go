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

// An HTTP/1.1 upstream may close a kept connection at any moment, even while a request is on its
// way. Then the gateway cannot know whether the request was read, so it must not be sent again. This
// file avoids connections that are about to be closed, and finds out for as many requests as possible
// that not one byte of them was sent:
//
//   - A pooled connection is examined before it is used. One that the other side has closed is
//     refused, and net/http takes another.
//   - A connection that was idle for almost as long as upstreams keep them is not used.
//   - Until an upstream has proved that it keeps connections, a connection is watched for a moment
//     after each answer, since upstreams that close connections do so right after the answer. After
//     one was closed so, the upstream's connections are not used within that moment.
//   - A request of which nothing was written before its connection turned out to be closed
//     is sent once more, over a new connection.
//
// HTTP/2 says which requests were not read (RFC 9113, 6.8), and net/http sends those again.

// roundTrip sends a request. If no byte of it was sent over the pooled connection, it is sent again
// over a new one. That is no retry in the sense of the configuration, since no call has failed.
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
		// The upstream sent the reason for closing (a 408), and net/http took it for the answer.
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

// fresh gives a transport that makes a new connection for each call.
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
	a.sent.Add(1)
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
	if info.IdleTime > maxIdle(time.Duration(c.keep.Load()), encrypted) {
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

// unsent reports whether not one byte of the call was written to its pooled connection. The text is
// that of net/http for a connection that was closed before the call began: over TLS, closing writes
// bytes too.
func (a *answer) unsent(err error) bool {
	if !a.pooled {
		return false
	}
	return a.conn != nil && (a.conn.refused.Load() || a.conn.written.Load() == a.before) || err != nil && err.Error() == "http: server closed idle connection"
}

// served notes that a pooled connection was usable, and how long the upstream keeps it from now on.
func (a *answer) served(resp *http.Response) {
	if a.conn == nil {
		return
	}
	if a.pooled {
		a.upstream.trusts[a.after].gain()
	}
	a.conn.keep.Store(int64(keepAlive(resp.Header)))
}

// connOf gives the connection below TLS; nil for one that was not made by dialed, and for HTTP/2.
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
