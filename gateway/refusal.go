package gateway

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway/framing"
)

// refuser answers requests that net/http refuses itself, ahead of any handler: it has the
// handler answer a request that is marked with the reason, so that the answer is in the protocol of
// the path, has an identifier and is logged and counted as any other.
type refuser struct {
	handler http.Handler
	ctx     context.Context //nolint:containedctx // of the server's requests
}

// answer gives the whole answer, of HTTP/1.1. It ends the connection.
func (f refuser) answer(r framing.Refusal, conn *framing.Conn) []byte {
	asked := requestOf(r.Line)
	asked.Header = http.Header{framing.Header: {r.Reason}}
	asked.RemoteAddr = conn.RemoteAddr().String()
	asked.TLS = conn.TLS()
	written := recorder{header: http.Header{}}
	f.handler.ServeHTTP(&written, asked.WithContext(f.ctx))
	written.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	answer := http.Response{
		StatusCode: written.status, ProtoMajor: 1, ProtoMinor: 1, Header: written.header, Close: true, Request: asked,
		Body: io.NopCloser(&written.body), ContentLength: int64(written.body.Len()),
	}
	var all bytes.Buffer
	_ = answer.Write(&all) // a buffer takes all
	return all.Bytes()
}

// requestOf reads as much as can be read of a request line.
func requestOf(line []byte) *http.Request {
	method, rest, _ := strings.Cut(string(line), " ")
	target, _, _ := strings.Cut(rest, " ")
	at, err := url.ParseRequestURI(target)
	if err != nil {
		path, query, _ := strings.Cut(target, "?")
		at = &url.URL{Path: path, RawQuery: query}
	}
	return &http.Request{Method: method, URL: at, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody, Close: true}
}

// answering is a handler that tells connections of HTTP/1 when their requests are answered, and
// callers when an answer is the last of its connection.
type answering struct {
	http.Handler
	linger *lingering
}

// ServeHTTP answers a request.
func (a answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		if conn, ok := r.Context().Value(connKey{}).(*framing.Conn); ok {
			conn.Answering(true)
		}
	} else { // the deadline of the server would end a stream that waits for its answer
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
	if a.linger.closing.Load() { // HTTP/2 sends GOAWAY
		w.Header().Set("Connection", "close")
	}
	a.Handler.ServeHTTP(w, r)
}

// answered sees the states of connections.
func answered(c net.Conn, state http.ConnState) {
	if conn, ok := c.(*framing.Conn); ok && state == http.StateIdle {
		conn.Answering(false)
	}
}

type connKey struct{}

// withConn gives the requests of a connection the connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

// Why a request is refused that is marked by its connection: its end is ambiguous, it expects
// of the server what this one does not know, or net/http refuses it itself.
const (
	reasonFraming     = "AMBIGUOUS_FRAMING"
	reasonExpectation = "UNKNOWN_EXPECTATION"
	reasonMalformed   = "MALFORMED_REQUEST"
	reasonLargeHead   = "HEADERS_TOO_LARGE"
	reasonVersion     = "HTTP_VERSION_NOT_SUPPORTED"
	reasonNoTLS       = "TLS_REQUIRED"
)

// marked is the refusal of a request that a framing.Conn has marked with a reason.
func marked(reason string) *fault.Error {
	f := fault.New(fault.InvalidRequest, reasonFraming, "%s", framing.Text(reason))
	switch reason {
	case framing.Expectation:
		f.Reason, f.Status = reasonExpectation, http.StatusExpectationFailed
	case framing.LargeHead:
		f.Reason, f.Status = reasonLargeHead, http.StatusRequestHeaderFieldsTooLarge
	case framing.Version:
		f.Reason, f.Status = reasonVersion, http.StatusHTTPVersionNotSupported
	case framing.NoTLS:
		f.Reason = reasonNoTLS
	case framing.Malformed, framing.Host, framing.Incomplete:
		f.Reason = reasonMalformed
	}
	return f
}
