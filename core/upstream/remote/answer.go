package remote

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
)

// answer is an upstream's answer to one call, and what is known of the call: one value,
// since each call needs all of it.
type answer struct {
	upstream *Upstream
	record   *call.Record // of the request
	// ctx is the call's, which end ends for a reason. So does the patience with an upstream
	// that makes no progress.
	ctx      context.Context //nolint:containedctx // it lives as long as the call
	end      context.CancelCauseFunc
	patience patience
	// conn is the call's connection, as the trace finds out; nil if it is not ours to look
	// into. pooled says that it had served others before, after what that was last, and
	// before the bytes that it had sent by then. kind is the call's own.
	trace       httptrace.ClientTrace
	conn        *conn
	pooled      bool
	kind, after kind
	before      int64

	// captured gives a reader that captures what is read; nil where the call is not captured.
	captured func(io.Reader) io.Reader

	header http.Header
	// body is to be read, raw what comes over the connection for it.
	body io.Reader
	raw  io.ReadCloser
	// size is how long the body says to be; -1 when it does not, or is compressed.
	size int64
	// held is how many bytes of the upstream's AnswerMemory the answer holds, and peak how
	// many it has held at most.
	held, peak int64
	// room is how much of that is the buffer of a stream, and heavy says that an event of
	// it holds more.
	room  int64
	heavy bool
}

// begin takes the answer's head.
func (a *answer) begin(resp *http.Response) (err error) {
	if err = a.decode(resp); err == nil && a.captured != nil {
		a.body = a.captured(a.body)
	}
	return err
}

// decode has the body be read without what encodes it.
func (a *answer) decode(resp *http.Response) (err error) {
	a.header, a.raw, a.size = resp.Header, resp.Body, resp.ContentLength
	a.body = (*watched)(a)
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

// watched is an answer's body as it comes, which gives the upstream more time with every
// byte it sends.
type watched answer

func (w *watched) Read(p []byte) (int, error) {
	since := time.Now()
	n, err := w.raw.Read(p)
	w.record.Await(since)
	if n > 0 {
		w.patience.hear()
	}
	return n, err
}

// close ends the call.
func (a *answer) close() {
	a.patience.end()
	a.end(nil)
	_ = a.raw.Close()
	_ = a.hold(0) // giving back does not fail
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
	case errors.Is(err, errQuiet):
		return fault.Wrap(err, fault.BadUpstream, upstream.ReasonNoContent, "the upstream's stream went on for more than %d bytes and said nothing of its answer", mostQuiet)
	}
	return fault.Wrap(err, fault.BadUpstream, fault.ReasonStreamCut, "the upstream's answer was cut off before its end")
}
