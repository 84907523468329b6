package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/internal/arena"
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
	// of bytes that were written to it by then. kind is this call's.
	trace       httptrace.ClientTrace
	conn        *conn
	pooled      bool
	kind, after kind
	before      int64

	// sent counts how often the transport began to send the request, written how often it was sent whole.
	sent, written atomic.Int32

	// captured returns a reader that captures what is read; nil where the call is not captured.
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
	if account := a.upstream.Account(); err == nil && a.record.SeveralAccounts && a.upstream.protocol.Upstream.NamesAccounts {
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

// encodingOf returns the codings of a body (RFC 9110, 8.4) in lower case; empty for none.
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

// idleTimer calls a function after a time without activity. The timer looks at the time of the
// last activity only when it expires: to reset it for each event costs as much as to read one.
type idleTimer struct {
	timer   *time.Timer
	started time.Time
	// limit is the longest time without activity; active is the time of the last activity, after
	// started.
	limit, active atomic.Int64
	expired       func()
}

// start calls expired once there was no activity for as long as limit.
func (t *idleTimer) start(limit time.Duration, expired func()) {
	t.started, t.expired = time.Now(), expired
	t.limit.Store(int64(limit))
	t.timer = time.AfterFunc(limit, t.check)
}

// reset notes activity.
func (t *idleTimer) reset() { t.resetAt(time.Now()) }

// resetAt notes activity at a time.
func (t *idleTimer) resetAt(now time.Time) { t.active.Store(int64(now.Sub(t.started))) }

// resetTo sets another limit, which begins now.
func (t *idleTimer) resetTo(limit time.Duration) {
	t.limit.Store(int64(limit))
	t.reset()
	t.timer.Reset(limit)
}

func (t *idleTimer) stop() { t.timer.Stop() }

func (t *idleTimer) check() {
	idle := time.Since(t.started) - time.Duration(t.active.Load())
	if left := time.Duration(t.limit.Load()) - idle; left > 0 {
		t.timer.Reset(left)
		return
	}
	t.expired()
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

// cause returns why the call has ended.
func (a *answer) cause() error { return context.Cause(a.ctx) }

// broken returns the fault of an error in reading the body.
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

const (
	// maxTrusted is the most memory that is reserved on account of the Content-Length.
	maxTrusted = 4 << 20
	// firstBuffer is the memory that is reserved at first for a body without a Content-Length.
	firstBuffer = 4 << 10
	// piece is the memory that is added at a time for a longer body.
	piece = 1 << 20
)

// whole reads the whole body of the answer. decoded means that it will be decoded, which copies its
// texts.
func (a *answer) whole(decoded bool) ([]byte, error) {
	raw, err := a.read(a.upstream.config.MaxAnswerBytes)
	if err != nil {
		return nil, a.broken(err)
	}
	if more := weight(raw, decoded); more > 0 {
		if err := a.hold(int64(len(raw)) + more); err != nil {
			return nil, err
		}
	}
	return bytes.TrimPrefix(raw, byteOrderMark), nil
}

// byteOrderMark precedes the JSON of some servers. RFC 8259, 8.1 lets readers ignore it, and the
// vendors' SDKs do.
var byteOrderMark = []byte("\xef\xbb\xbf")

// read reads the body into the memory of the call. A body of more than limit bytes is an error.
// Memory is added as bytes arrive.
func (a *answer) read(limit int64) ([]byte, error) {
	if a.size > limit {
		return nil, a.upstream.tooLarge()
	}
	size := int64(firstBuffer)
	if a.size > 0 {
		size = min(a.size, maxTrusted)
	}
	if err := a.hold(size); err != nil {
		return nil, err
	}
	memory := arena.Of(a.ctx)
	whole := memory.Make(int(size))
	for n := 0; ; {
		more, ended, err := a.fillUp(whole[n:])
		n += more
		switch {
		case err != nil:
			return nil, err
		case int64(n) > limit:
			return nil, a.upstream.tooLarge()
		case ended, int64(n) == a.size:
			return whole[:n], a.complete(n)
		case n >= piece:
			return a.readPieces(whole, limit)
		}
		if err := a.hold(int64(3 * n)); err != nil { // the old and the new memory, while one is copied into the other
			return nil, err
		}
		whole = memory.Grow(whole, 2*n)
	}
}

// readPieces reads the rest of a body behind its first piece. All pieces have one size, so that
// the buffers of a body that turns out to be too large are used again for the next body.
func (a *answer) readPieces(first []byte, limit int64) ([]byte, error) {
	var memory arena.Arena
	defer memory.Free()
	pieces, total := [][]byte{first}, len(first)
	for ended := false; !ended && int64(total) != a.size; {
		if err := a.hold(int64(total + piece)); err != nil {
			return nil, err
		}
		next := memory.Make(piece)
		n, end, err := a.fillUp(next)
		pieces, total, ended = append(pieces, next[:n]), total+n, end
		switch {
		case err != nil:
			return nil, err
		case int64(total) > limit:
			return nil, a.upstream.tooLarge()
		}
	}
	if err := a.hold(int64(2 * total)); err != nil {
		return nil, err
	}
	whole := arena.Of(a.ctx).Make(total)
	at := 0
	for _, p := range pieces {
		at += copy(whole[at:], p)
	}
	_ = a.hold(int64(total)) // it is less
	return whole, a.complete(total)
}

// fillUp reads until p is full or the body ends.
func (a *answer) fillUp(p []byte) (n int, ended bool, err error) {
	for n < len(p) {
		more, err := a.body.Read(p[n:])
		n += more
		switch {
		case errors.Is(err, io.EOF):
			return n, true, nil
		case err != nil:
			return n, false, err
		}
	}
	return n, false, nil
}

// complete returns an error for a body that is shorter than its Content-Length.
func (a *answer) complete(n int) error {
	if a.size > 0 && int64(n) < a.size {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// AnswerMemory is the budget of memory for the answers of all upstreams of a process, in bytes: for
// the bytes that have arrived, after decompression, and for the decoded messages. One upstream may
// have half of it, so that one that floods leaves memory for the others. The first 64 KiB of an answer are not counted. It is safe for concurrent use.
type AnswerMemory struct {
	limit int64
	held  atomic.Int64
	// garbage counts the bytes that large answers have released since the last collection.
	garbage atomic.Int64
}

// DefaultAnswerMemory is the budget of a process without one in its flags.
const DefaultAnswerMemory = 1 << 30

// NewAnswerMemory makes a budget of limit bytes; 0 means DefaultAnswerMemory.
func NewAnswerMemory(limit int64) *AnswerMemory {
	if limit == 0 {
		limit = DefaultAnswerMemory
	}
	return &AnswerMemory{limit: limit}
}

// Held returns the number of bytes that are held now.
func (m *AnswerMemory) Held() int64 { return m.held.Load() }

// take reserves bytes for an answer of the upstream. It reports false if there are not as many.
func (m *AnswerMemory) take(u *Upstream, bytes int64) bool {
	if u.held.Add(bytes) > m.limit/2 {
		u.held.Add(-bytes)
		return false
	}
	if m.held.Add(bytes) > m.limit {
		m.give(u, bytes)
		return false
	}
	return true
}

func (m *AnswerMemory) give(u *Upstream, bytes int64) {
	u.held.Add(-bytes)
	m.held.Add(-bytes)
}

// discard counts the memory of a large answer as garbage, and starts a collection when there is much
// of it. By itself Go would let garbage grow to the size of all answers that were held at once.
func (m *AnswerMemory) discard(bytes int64) {
	if bytes >= large && m.garbage.Add(bytes) > m.limit/8 {
		m.garbage.Store(0)
		runtime.GC()
	}
}

const (
	// uncounted is the part of each answer that does not count, since most answers are smaller.
	uncounted = 64 << 10
	// weighed is the size of a body from which on the memory of its decoded form counts; perValue is
	// the most that each of its values takes, in bytes: a body of empty objects takes a hundred times
	// its length.
	weighed  = 1 << 20
	perValue = 128
	// large is the size of an answer from which on its memory counts as garbage (discard).
	large = 8 << 20
)

// hold sets how many bytes of the budget the answer holds. The error is one for the caller.
func (a *answer) hold(bytes int64) error {
	if bytes <= uncounted {
		bytes = 0
	}
	memory, more := a.upstream.config.Memory, bytes-a.held
	switch {
	case bytes > memory.limit/2:
		return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is too large: it takes more memory than the answers of one upstream may have")
	case more > 0 && !memory.take(a.upstream, more):
		f := fault.New(fault.Unavailable, upstream.ReasonAnswersFull, "the server holds as many bytes of answers as it may; try again")
		f.RetryAfter = time.Second
		return f
	case more < 0:
		memory.give(a.upstream, -more)
	}
	a.held, a.peak = bytes, max(a.peak, bytes)
	return nil
}

// keep has the answer's bytes held until the end of the call, since its body is read until then. It
// does nothing for a call whose end is not known.
func (a *answer) keep() {
	held, u := a.held, a.upstream
	give := func() {
		u.config.Memory.give(u, held)
		u.config.Memory.discard(held)
	}
	if held > 0 && arena.Of(a.ctx).Hold(give) {
		a.held = 0
	}
}

// weight is the memory that a decoded body takes in addition to its own length: its values, and if
// its texts are decoded, three copies of those (decoded, in a message, encoded). For a small body it
// is 0.
func weight(body []byte, decoded bool) int64 {
	if len(body) < weighed {
		return 0
	}
	values := bytes.Count(body, []byte("{")) + bytes.Count(body, []byte("[")) + bytes.Count(body, []byte(","))
	weight := perValue * int64(values)
	if decoded {
		weight += 3 * int64(len(body))
	}
	return weight
}

// tooLarge is the fault of an answer above its bound.
func (u *Upstream) tooLarge() error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is too large: the most is %d bytes after decompression", u.config.MaxAnswerBytes)
}

// wroteRequest is called each time that the transport has written the request, or has failed to.
func (a *answer) wroteRequest(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		a.written.Add(1)
	}
}

// noteSent records that the transport has read the body of the request to its end each time that it began
// to. Else it may still read it: it returns an answer that comes early before all of the body is sent.
func (a *answer) noteSent() {
	if written := a.written.Load(); written > 0 && written == a.sent.Load() {
		a.record.BodySent++
	}
}
