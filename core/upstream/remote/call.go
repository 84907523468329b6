package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// Reasons for which the gateway ends a call.
var (
	errIdle      = errors.New("remote: the upstream makes no progress")
	errKeptOpen  = errors.New("remote: the upstream keeps the stream open after its end")
	errNoContent = errors.New("remote: the upstream's stream has no content")
)

// call posts body and gives the answer when its status is 2xx (case K12), else
// its fault. The context of the call ends when the answer's body is closed.
func (u *Upstream) call(ctx context.Context, op protocol.Operation, model string, body []byte, wire *genwayv1.WireMessage) (*answer, error) {
	body, err := u.placed(op, body, wire)
	if err != nil {
		return nil, err
	}
	a := &answer{upstream: u, record: call.Of(ctx)}
	if c := a.record.Capture; c != nil {
		a.captured = c.Call(a.record.TargetName(), u.protocol.Name, body, u.redact)
	}
	if op == protocol.Stream {
		a.kind = aStream
	}
	ctx, a.end = context.WithCancelCause(ctx)
	a.trace.GotConn, a.trace.WroteRequest = a.gotConn, a.wroteRequest
	ctx = httptrace.WithClientTrace(ctx, &a.trace)
	a.ctx = ctx
	a.idle.start(u.config.FirstByte, func() { a.end(errIdle) })
	resp, err := u.send(a, op, model, body, wire) //nolint:bodyclose // the answer closes it
	if err != nil {
		a.idle.stop()
		a.record.Accepted = a.cause() != nil && a.written.Load() > 0
		err = u.interrupted(ctx, err)
		a.end(nil)
		return nil, err
	}
	a.idle.resetTo(u.config.Idle)
	u.note(ctx, resp.Header, wire)
	err = a.begin(resp)
	switch {
	case resp.StatusCode/100 != 2:
		defer a.close()
		if err != nil || resp.StatusCode < 200 {
			a.body = http.NoBody // the status is enough; what follows a 101 is no answer
		}
		return nil, u.refused(a, resp, wire)
	case err != nil:
		a.close()
		return nil, u.interrupted(ctx, err)
	}
	a.record.Accepted = true
	return a, nil
}

// request makes the HTTP request of a call.
func (u *Upstream) request(ctx context.Context, op protocol.Operation, model string, body []byte, wire *genwayv1.WireMessage) *http.Request {
	req := u.blank.WithContext(ctx)
	req.URL, req.Header = u.address(op, model), u.headers(wire)
	if e := u.config.Place; e != nil && (e.NoStream || len(e.Betas) > 0) {
		betas, own := u.betas(wire, body)
		if e.NoStream || !own {
			req.Header = maps.Clone(req.Header)
			req.Header.Del(betaHeader)
		}
		if !e.NoStream && !own && len(betas) > 0 {
			req.Header.Set(betaHeader, strings.Join(betas, ","))
		}
	}
	if u.config.Trace {
		req.Header = traced(req.Header, call.Of(ctx).Carried())
	}
	// The transport writes the head by itself, ahead of the body, for types of readers that it does
	// not know.
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return req
}

// refused gives the fault of an answer that is not 2xx.
func (u *Upstream) refused(a *answer, resp *http.Response, wire *genwayv1.WireMessage) error {
	body, err := io.ReadAll(io.LimitReader(a.body, 1<<20))
	if err != nil && a.ctx.Err() != nil {
		return u.interrupted(a.ctx, err)
	}
	body = u.placeError(resp.StatusCode, resp.Header, u.redact(bytes.TrimPrefix(body, byteOrderMark)))
	f := u.protocol.ErrorCodec().DecodeError(resp.StatusCode, body)
	noteRefusal(a.record, f)
	f.Status = callerStatus(resp.StatusCode)
	f.RetryAfter = retryAfter(resp.Header)
	f.UpstreamRequestID = requestID(resp.Header)
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusProxyAuthRequired:
		own := upstream.CredentialsRefused(f)
		own.UpstreamRequestID = f.UpstreamRequestID
		return own
	case !u.speaks(wire):
		f.Wire = nil
		translate(f)
	}
	return f
}

// translate gives unknown models and overload the reason and the kind that callers of another
// protocol know: the vendors report an unknown model by the message of a 404, overload by a 529 or by
// that of a 503, and a caller's protocol has its own texts and statuses for both.
func translate(f *fault.Error) {
	message := strings.ToLower(f.Message)
	switch {
	case f.Kind == fault.NotFound && strings.Contains(message, "model"):
		f.Reason = fault.ReasonModelNotFound
	case f.Kind == fault.Overloaded || f.Kind == fault.Unavailable && strings.Contains(message, "overloaded"):
		f.Kind, f.Status = fault.Overloaded, 0
	}
}

// callerStatus keeps an upstream's status where it means the same to the caller. One beyond 599 is
// no status (RFC 9110, 15).
func callerStatus(status int) int {
	if status < 400 || status > 599 {
		return http.StatusBadGateway
	}
	return status
}

func (u *Upstream) speaks(wire *genwayv1.WireMessage) bool {
	return wire.GetProtocol() == u.config.Protocol
}

// interrupted gives the fault of an error of the transport: why the call's own
// context ended, else that the upstream is not reachable.
func (u *Upstream) interrupted(ctx context.Context, err error) error {
	var f *fault.Error
	switch cause := context.Cause(ctx); {
	case errors.As(err, &f):
		return f
	case errors.Is(cause, errIdle):
		return upstream.Late(cause)
	case cause != nil:
		return upstream.Interrupted(ctx)
	}
	return upstream.Unreachable(err)
}

// maxWait bounds the wait that an upstream may ask for.
const maxWait = 30 * 24 * time.Hour

// waitOf gives the duration of figure units, at most maxWait.
func waitOf(figure float64, unit time.Duration) time.Duration {
	return time.Duration(min(figure*float64(unit), float64(maxWait)))
}

// retryAfter reads how long the caller is to wait: Retry-After-Ms, or else Retry-After in seconds
// or as a date; 0 without either.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return waitOf(ms, time.Millisecond)
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return waitOf(s, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, time.Until(at)), maxWait)
	}
	return 0
}

func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Amzn-Requestid", "Apim-Request-Id"} {
		if id := h.Get(name); id != "" && len(id) <= 128 {
			return id
		}
	}
	return ""
}
