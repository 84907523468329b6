package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Why a call is ended from this side.
var (
	errIdle    = errors.New("remote: the upstream makes no progress")
	errLingers = errors.New("remote: the upstream keeps the stream open after its end")
)

// answer is an upstream's answer with a 2xx status. Its body ends the call when
// closed.
type answer struct {
	header http.Header
	body   io.ReadCloser
	// size is how long the body says to be; -1 when it does not, or is compressed.
	size int64
	// end ends the call for a reason, cause tells for which it has ended.
	end   context.CancelCauseFunc
	cause func() error
	// broken gives the fault of an error in reading the body.
	broken func(error) error
}

// trusted is how much room is made for an answer on an upstream's word.
const trusted = 32 << 20

// read gives up to most bytes of the body.
func (a *answer) read(most int64) ([]byte, error) {
	var buf bytes.Buffer
	if a.size > 0 {
		buf.Grow(int(min(a.size, most, trusted)) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(io.LimitReader(a.body, most))
	return buf.Bytes(), err
}

// call posts body and gives the answer when its status is 2xx (case K12), else
// its fault. The context of the call ends when the answer's body is closed.
func (u *Upstream) call(ctx context.Context, op operation, model string, body []byte, wire *genwayv1.WireMessage) (*answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(u.config.FirstByte, func() { cancel(errIdle) })
	give := func(err error) (*answer, error) {
		timer.Stop()
		err = u.interrupted(ctx, err)
		cancel(nil)
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url(op, model), bytes.NewReader(body))
	if err != nil {
		return give(err)
	}
	u.setHeaders(req.Header, wire)
	resp, err := u.roundTrip(req)
	if err != nil {
		return give(err)
	}
	timer.Reset(u.config.Idle)
	u.note(ctx, resp.Header, wire)
	resp.Body = &watchedBody{ReadCloser: resp.Body, timer: timer, idle: u.config.Idle, cancel: cancel}
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		plain, err := gzip.NewReader(resp.Body)
		if err != nil {
			_ = resp.Body.Close()
			return give(fault.Wrap(err, fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer could not be read"))
		}
		resp.ContentLength = -1
		resp.Body = struct {
			io.Reader
			io.Closer
		}{plain, resp.Body}
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, u.refused(ctx, resp, wire)
	}
	return &answer{
		header: resp.Header,
		body:   resp.Body,
		size:   resp.ContentLength,
		end:    cancel,
		cause:  func() error { return context.Cause(ctx) },
		broken: func(err error) error { return u.broken(ctx, err) },
	}, nil
}

// broken gives the fault of an answer whose body could not be read to its end.
func (u *Upstream) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return u.interrupted(ctx, err)
	}
	return fault.Wrap(err, fault.BadUpstream, fault.ReasonStreamCut, "the upstream's answer was cut off before its end")
}

// refused gives the fault of an answer that is not 2xx.
func (u *Upstream) refused(ctx context.Context, resp *http.Response, wire *genwayv1.WireMessage) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil && ctx.Err() != nil {
		return u.interrupted(ctx, err)
	}
	body = u.redact(body)
	var f *fault.Error
	if u.codec != nil {
		f = u.codec.DecodeError(resp.StatusCode, body)
	} else {
		f = images.Codec{}.DecodeError(resp.StatusCode, body)
	}
	f.Status = callerStatus(resp.StatusCode)
	f.RetryAfter = retryAfter(resp.Header)
	f.UpstreamRequestID = requestID(resp.Header)
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		// Our credentials, not the caller's: nothing the caller can mend.
		own := fault.Wrap(f, fault.BadUpstream, "UPSTREAM_CREDENTIALS", "the upstream refused the gateway's credentials")
		own.UpstreamRequestID = f.UpstreamRequestID
		return own
	case !u.speaks(wire):
		f.Wire = nil
		translate(f)
	}
	return f
}

// translate makes what another protocol says of models and of overload that of ours:
// the vendors tell an unknown model by the message of a 404, overload by a 529 or by
// that of a 503, and a caller's protocol has its own words and status for both.
func translate(f *fault.Error) {
	said := strings.ToLower(f.Message)
	switch {
	case f.Kind == fault.NotFound && strings.Contains(said, "model"):
		f.Reason = fault.ReasonModelNotFound
	case f.Kind == fault.Overloaded || f.Kind == fault.Unavailable && strings.Contains(said, "overloaded"):
		f.Kind, f.Status = fault.Overloaded, 0
	}
}

// callerStatus keeps an upstream's status where it means the same to the caller.
func callerStatus(status int) int {
	if status < 400 {
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
		return fault.Wrap(cause, fault.Timeout, upstream.ReasonDeadline, "the upstream did not answer in time")
	case cause != nil:
		return upstream.Interrupted(ctx)
	}
	return fault.Wrap(err, fault.Unavailable, "UPSTREAM_UNREACHABLE", "the upstream could not be reached")
}

// retryAfter reads how long to wait: milliseconds first, then seconds or a date.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id"} {
		if id := h.Get(name); id != "" && len(id) <= 128 {
			return id
		}
	}
	return ""
}

// watchedBody gives the upstream more time with every byte it sends, and ends the
// call when closed.
type watchedBody struct {
	io.ReadCloser
	timer  *time.Timer
	idle   time.Duration
	cancel context.CancelCauseFunc
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(b.idle)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
