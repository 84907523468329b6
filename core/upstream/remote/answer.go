package remote

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// answer is an upstream's answer to one call, and what is known of the call: one value,
// since each call needs all of it.
type answer struct {
	upstream *Upstream
	record   *call.Record // of the request
	// ctx is the call's, which end ends with a reason. The idle timer ends it as
	// well, when the upstream makes no progress.
	ctx  context.Context //nolint:containedctx // it lives as long as the call
	end  context.CancelCauseFunc
	idle idleTimer
	// conn is the connection of the call, which the trace reports; nil if it is not one of ours.
	// pooled means that it served other calls before, the last of kind after; before is the number
	// of bytes that were written to it by then. kind is that of this call.
	trace       httptrace.ClientTrace
	conn        *conn
	pooled      bool
	kind, after kind
	before      int64

	// sent counts how often the transport began to send the request, written how often it was sent whole.
	sent, written atomic.Int32

	// captured gives a reader that captures what is read; nil where the call is not captured.
	captured func(io.Reader) io.Reader

	header http.Header
	// body is the answer after decompression, raw as it comes over the connection.
	body io.Reader
	raw  io.ReadCloser
	// size is the Content-Length; -1 without one, or when the body is compressed.
	size int64
	// held is the number of bytes of the upstream's AnswerMemory that the answer holds, and peak
	// the most that it has held.
	held, peak int64
	// buffer is the part of held that the buffer of a stream takes; heavy means that an event
	// takes more.
	buffer int64
	heavy  bool
}

// begin reads the head of the answer.
func (a *answer) begin(resp *http.Response) (err error) {
	if err = a.decode(resp); err == nil && a.captured != nil {
		a.body = a.captured(a.body)
	}
	if account := a.upstream.Account(); err == nil && a.record.SeveralAccounts && a.upstream.config.Protocol == genwayv1.Protocol_PROTOCOL_RESPONSES {
		a.size, a.body = -1, &accountReader{below: a.body, mark: []byte(codec.AccountPrefix + account + ".")}
	}
	return err
}

// decode has the body be read without what encodes it.
func (a *answer) decode(resp *http.Response) (err error) {
	a.header, a.raw, a.size = resp.Header, resp.Body, resp.ContentLength
	a.body = (*activeBody)(a)
	if a.upstream.isEventStream(resp.Header) {
		a.size, a.body = -1, newEventStream(a, a.body)
	}
	switch encoding := encodingOf(resp.Header); encoding {
	case "":
		return nil
	case "gzip", "x-gzip":
		a.size = -1
		if a.body, err = gzip.NewReader(a.body); err != nil {
			return fault.Wrap(err, fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer could not be read: it says to be compressed by gzip and is not")
		}
		return nil
	default:
		return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer could not be read: it is encoded by %.40q, and only gzip is understood", encoding)
	}
}

// encodingOf gives the codings of a body (RFC 9110, 8.4) in lower case; empty for none.
func encodingOf(h http.Header) string {
	var codings []string
	for _, value := range h["Content-Encoding"] {
		for coding := range strings.SplitSeq(value, ",") {
			coding = strings.ToLower(strings.TrimSpace(coding))
			if coding != "" && coding != "identity" {
				codings = append(codings, coding)
			}
		}
	}
	return strings.Join(codings, ", ")
}

// activeBody is the body of an answer. Each byte that it reads resets the idle timer.
type activeBody answer

func (b *activeBody) Read(p []byte) (int, error) {
	since := time.Now()
	n, err := b.raw.Read(p)
	now := time.Now()
	b.record.Waited += now.Sub(since)
	if n > 0 {
		b.idle.resetAt(now)
	}
	return n, err
}

// close ends the call.
func (a *answer) close() {
	a.idle.stop()
	a.end(nil)
	_ = a.raw.Close()
	a.noteSent()
	_ = a.hold(0) // to hold less does not fail
	a.upstream.config.Memory.discard(a.peak)
}

// cause gives why the call has ended.
func (a *answer) cause() error { return context.Cause(a.ctx) }

// broken gives the fault of an error in reading the body.
func (a *answer) broken(err error) error {
	if a.ctx.Err() != nil {
		return a.upstream.interrupted(a.ctx, err)
	}
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, errEventTooLarge):
		return a.upstream.tooLarge()
	case errors.Is(err, errNoContent):
		return fault.Wrap(err, fault.BadUpstream, upstream.ReasonNoContent, "the upstream's stream went on for more than %d bytes without any part of an answer", maxWithoutContent)
	}
	return fault.Wrap(err, fault.BadUpstream, fault.ReasonStreamCut, "the upstream's answer was cut off before its end")
}
