package remote

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/internal/arena"
)

// answer is an upstream's answer to one call, and what is known of the call: one value,
// since each call needs all of it.
type answer struct {
	upstream *Upstream
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

	header http.Header
	// body is to be read, raw what comes over the connection for it.
	body io.Reader
	raw  io.ReadCloser
	// size is how long the body says to be; -1 when it does not, or is compressed.
	size int64
}

// begin takes the answer's head.
func (a *answer) begin(resp *http.Response) (err error) {
	a.header, a.raw, a.size = resp.Header, resp.Body, resp.ContentLength
	a.body = (*watched)(a)
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		a.size = -1
		a.body, err = gzip.NewReader(a.body)
	}
	return err
}

// watched is an answer's body as it comes, which gives the upstream more time with every
// byte it sends.
type watched answer

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.raw.Read(p)
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
}

// cause tells why the call has ended.
func (a *answer) cause() error { return context.Cause(a.ctx) }

// broken gives the fault of an error in reading the body.
func (a *answer) broken(err error) error {
	if a.ctx.Err() != nil {
		return a.upstream.interrupted(a.ctx, err)
	}
	return fault.Wrap(err, fault.BadUpstream, fault.ReasonStreamCut, "the upstream's answer was cut off before its end")
}

const (
	// trusted is how much room is made for an answer on an upstream's word.
	trusted = 32 << 20
	// unsaid is the room for one that does not say its size, as it begins.
	unsaid = 4 << 10
)

// read gives up to most bytes of the body, in the call's memory.
func (a *answer) read(most int64) ([]byte, error) {
	memory := arena.Of(a.ctx)
	if a.size > 0 && a.size <= min(most, trusted) {
		whole := memory.Make(int(a.size))
		_, err := io.ReadFull(a.body, whole)
		return whole, err
	}
	room := int64(unsaid)
	if a.size > 0 {
		room = trusted
	}
	whole, body := memory.Make(int(min(room, most))), io.LimitReader(a.body, most)
	for n := 0; ; {
		if n == len(whole) {
			larger := memory.Make(2 * n)
			copy(larger, whole)
			whole = larger
		}
		more, err := body.Read(whole[n:])
		n += more
		switch {
		case errors.Is(err, io.EOF):
			return whole[:n], nil
		case err != nil:
			return whole[:n], err
		}
	}
}
