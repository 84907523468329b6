package gateway

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// readBody reads a whole request body into memory of the edge's budget. Its size is bounded
// before and after decompression. The caller may be slow but must make progress.
func (e *Edge) readBody(x *exchange, r *http.Request) ([]byte, error) {
	most := e.config.MaxBodyBytes
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	up := newUpload(r.Body, x, e.config)
	access := func() error { return e.access(r.Context(), x) }
	if readsBeforeKey(r) {
		up.access = access
	} else if err := access(); err != nil {
		return nil, err
	}
	raw, err := readAll(up, r.ContentLength, most, x.claim.grow, e.lend(x, r))
	x.w.readDeadline(0)
	if err != nil {
		return nil, err
	}
	x.w.bodyRead = true
	encoding := contentEncoding(r.Header)
	if encoding == "" {
		return raw, nil
	}
	plain, err := e.decompress(x, encoding, raw)
	if err != nil {
		return nil, err
	}
	r.Header.Del("Content-Encoding")
	return plain, nil
}

// decompress returns the body that raw is the compressed form of. Nothing may be behind it.
func (e *Edge) decompress(x *exchange, encoding string, raw []byte) ([]byte, error) {
	var (
		compressed = bytes.NewReader(raw)
		plain      io.ReadCloser
		err        error
	)
	switch encoding {
	case "gzip", "x-gzip":
		plain, err = gzip.NewReader(compressed)
	case "deflate":
		plain, err = inflate(compressed)
	default:
		return nil, fault.New(fault.UnsupportedMediaType, "CONTENT_ENCODING", "content-encoding %q is not supported; send gzip, deflate or none", clip(encoding, 32))
	}
	if err != nil {
		return nil, notItsEncoding(err)
	}
	defer plain.Close()
	body, err := readAll(plain, -1, e.config.MaxBodyBytes, x.claim.grow, nil)
	switch f, ok := errors.AsType[*fault.Error](err); {
	case ok && f.Reason == reasonBodyUnreadable:
		return nil, notItsEncoding(err)
	case err != nil:
		return nil, err
	case compressed.Len() > 0: // zlib stops at the end
		return nil, notItsEncoding(fmt.Errorf("%d bytes are behind its end", compressed.Len()))
	}
	return body, nil
}

// inflate reads deflate in the format of zlib, and without it, as "some non-conformant
// implementations" send it (RFC 9110, section 8.4.1.2). No encoder of raw deflate writes what begins
// like zlib: it would be a stored block whose padding is not zero.
func inflate(compressed *bytes.Reader) (io.ReadCloser, error) {
	plain, err := zlib.NewReader(compressed)
	if !errors.Is(err, zlib.ErrHeader) {
		return plain, err
	}
	if _, err := compressed.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return flate.NewReader(compressed), nil
}

func notItsEncoding(err error) error {
	return fault.Wrap(err, fault.InvalidRequest, "CONTENT_ENCODING", "the body is not what its content-encoding says")
}

// lend returns the memory for a body that a core reads over a connection; nil for the collector's. A
// core in this process may look at a body after the request (a capture), and nobody says when it
// no longer does.
func (e *Edge) lend(x *exchange, r *http.Request) *arena.Arena {
	if !e.remote || r.ContentLength < arena.Least || contentEncoding(r.Header) != "" {
		return nil
	}
	x.lent = arena.NewBody()
	return &x.lent.Arena
}

// contentEncoding returns the compression of a body, of which several fields are one list (RFC 9110,
// section 5.3); empty for none.
func contentEncoding(h http.Header) string {
	var fields []string
	for _, field := range h["Content-Encoding"] {
		if field = strings.TrimSpace(field); field != "" {
			fields = append(fields, strings.ToLower(field))
		}
	}
	encoding := strings.Join(fields, ", ")
	if encoding == "identity" {
		return ""
	}
	return encoding
}

// readAll reads up to most bytes. sized is the length that the sender announced, or -1. Memory
// is allocated as bytes arrive, and grow reserves each piece first, so that bytes which are
// announced and never sent cost nothing. It comes from memory; nil is the collector's.
func readAll(r io.Reader, sized, most int64, grow func(int64) error, memory *arena.Arena) ([]byte, error) {
	end := most + 1
	if sized >= 0 {
		end = sized
	}
	var body []byte
	for room := min(end, firstRoomOf(sized)); ; room = min(end, nextRoom(room, sized)) {
		if err := grow(room - int64(cap(body))); err != nil {
			return nil, err
		}
		have := len(body)
		larger := memory.Grow(body, int(room))
		n, err := fill(r, larger[have:])
		body = larger[:have+n]
		switch {
		case sized < 0 && err == io.EOF: //nolint:errorlint // one that wraps it is not the end of the body
			return body, nil
		case err != nil:
			return nil, bodyFault(err)
		case int64(len(body)) > most:
			return nil, tooLarge(most)
		case room == end:
			return body, nil
		}
	}
}

// fill reads until p is full or r fails. Unlike io.ReadFull it keeps io.EOF, the end of a body, apart
// from io.ErrUnexpectedEOF: the error of a body that is cut off.
func fill(r io.Reader, p []byte) (int, error) {
	n := 0
	for n < len(p) {
		more, err := r.Read(p[n:])
		if n += more; err != nil && n < len(p) {
			return n, err
		}
	}
	return n, nil
}

// firstRoomOf returns the size of the first piece of memory for a body. A small announced body
// gets all of its memory at once. Other bodies get firstRoom until their first bytes arrive.
func firstRoomOf(sized int64) int64 {
	if sized >= 0 && sized <= freeBody {
		return sized
	}
	return firstRoom
}

// nextRoom is the piece of memory behind one that is full. A body that is announced gets
// all of its memory once minRoom is there: each piece less is a copy less.
func nextRoom(room, sized int64) int64 {
	switch {
	case sized < 0:
		return room * roomGrowth
	case room < minRoom:
		return minRoom
	}
	return sized
}

// The first piece of memory for a body that is large or not announced, the least that the
// second has where the size is announced, and how many times larger each further one is, in bytes.
const (
	firstRoom  = 1 << 10
	minRoom    = 1 << 20
	roomGrowth = 16
)

// reasonBodyUnreadable is the reason of bodies that end before their end.
const reasonBodyUnreadable = "BODY_UNREADABLE"

func tooLarge(most int64) error {
	return fault.New(fault.TooLarge, fault.ReasonBodyTooLarge, "the request body is larger than %d bytes", most)
}

func bodyFault(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if _, ok := status.FromError(err); ok { // the core's, of the caller's key
		return err
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		e := fault.Wrap(err, fault.Timeout, "BODY_TIMEOUT", "the request body did not arrive in time")
		e.Status = http.StatusRequestTimeout
		return e
	}
	return fault.Wrap(err, fault.InvalidRequest, reasonBodyUnreadable, "the request body could not be read to its end")
}

// upload reads a body from a connection. It extends the read deadline with every read, and
// fails for a sender that is slower than the minimum rate over a window.
type upload struct {
	r       io.Reader
	w       *answerWriter
	timeout time.Duration
	// access, if set, is called once freeTime is over. Its error ends the reading.
	access func() error
	// least is the number of bytes that must arrive within a window of length timeout.
	least int64
	begun time.Time // of the window
	bytes int64     // since then
}

func newUpload(r io.Reader, x *exchange, config Config) *upload {
	return &upload{r: r, w: &x.w, timeout: config.BodyTimeout, least: int64(float64(config.MinUploadRate) * config.BodyTimeout.Seconds()), begun: x.start}
}

func (u *upload) Read(b []byte) (int, error) {
	now := time.Now()
	if u.access != nil {
		if left := freeTime - now.Sub(u.begun); left > 0 {
			u.w.readDeadline(min(left, u.timeout))
			n, err := u.r.Read(b)
			u.bytes += int64(n)
			if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || u.timeout <= left {
				return n, err
			}
		}
		if err := u.access(); err != nil {
			return 0, err
		}
		u.access, now = nil, time.Now()
	}
	if now.Sub(u.begun) >= u.timeout {
		if u.bytes < u.least {
			return 0, os.ErrDeadlineExceeded
		}
		u.begun, u.bytes = now, 0
	}
	u.w.readDeadline(u.timeout)
	n, err := u.r.Read(b)
	u.bytes += int64(n)
	return n, err
}

// bodyBudget bounds the memory that request bodies take at the edge. One key may have half of
// it, and so may one address.
type bodyBudget struct {
	most int64

	mu     sync.Mutex
	held   int64
	shares map[string]int64
}

func newBodyBudget(most int64) *bodyBudget {
	return &bodyBudget{most: most, shares: map[string]int64{}}
}

// claim is the share of one request in the budget. It is not safe for concurrent use.
type claim struct {
	bodies       *bodyBudget
	key, address string
	held         int64
}

// claimOf returns the claim of an exchange's key and caller in the budget of bodies.
func (e *Edge) claimOf(x *exchange) claim {
	return claim{bodies: e.bodies, key: "key " + x.authorization, address: "address " + hostOf(x.client)}
}

// grow reserves n more bytes. It fails with TooLarge when the request can never have as many,
// and with Unavailable when other requests hold them.
func (c *claim) grow(n int64) error {
	b := c.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	share := b.most / 2
	if c.held+n > share { // it never fits, however often it is tried
		return fault.New(fault.TooLarge, fault.ReasonBodyTooLarge, "the request body, as it is sent and decompressed, is larger than the %d bytes that one caller may have in memory", share)
	}
	if b.held+n > b.most || b.shares[c.key]+n > share || b.shares[c.address]+n > share {
		f := fault.New(fault.Unavailable, "BODIES_FULL", "the server holds as many bytes of request bodies as it may; try again")
		f.RetryAfter = time.Second
		return f
	}
	b.held += n
	b.shares[c.key] += n
	b.shares[c.address] += n
	c.held += n
	return nil
}

// crowded reports whether more than three quarters of the budget are used.
func (b *bodyBudget) crowded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held > b.most/4*3
}

// end releases all that the request holds.
func (c *claim) end() {
	if c.held == 0 {
		return
	}
	b := c.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= c.held
	for _, whose := range [...]string{c.key, c.address} {
		if b.shares[whose] -= c.held; b.shares[whose] == 0 {
			delete(b.shares, whose)
		}
	}
	c.held = 0
}

// The bounds of what a request without a known key may cost: bytes of its body, and time.
const (
	freeBody = 64 << 10
	freeTime = 5 * time.Second
)

// readsBeforeKey reports whether a body may be read before the core has accepted the
// caller's key. That is so for a small body: its call carries the key, and reading it is
// bounded by freeTime. The edge reads a large, compressed or unannounced body only after the
// core has accepted the key.
func readsBeforeKey(r *http.Request) bool {
	return r.ContentLength >= 0 && r.ContentLength <= freeBody && r.ProtoMajor == 1 && contentEncoding(r.Header) == ""
}

// access asks the core whether the caller's key may be used.
func (e *Edge) access(ctx context.Context, x *exchange) error {
	who := accessKeyOf(x)
	if e.accepted.has(who) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, keyCheckTimeout)
	defer cancel()
	_, err := e.keys.CheckAccess(x.outgoing(ctx), &edgev1.CheckAccessRequest{})
	if status.Code(err) == codes.Unimplemented { // a core without Access
		_, err = e.client.ListModels(ctx, &genwayv1.ListModelsRequest{PageSize: 1})
	}
	if err != nil && status.Code(err) != codes.Unimplemented { // a core with neither refuses the call itself
		if f := faultOf(err); f.Kind == fault.Unauthenticated {
			return x.invalidKey(f)
		}
		return err
	}
	e.accepted.add(who)
	return nil
}

// acceptedKeys remembers for acceptedFor which keys the core has accepted. It saves calls and
// admits no caller, since the core authenticates each call.
type acceptedKeys struct {
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

const (
	acceptedFor = 10 * time.Second
	maxAccepted = 10_000
)

// accessKeyOf is a digest of a key, its protocol, the caller's address and the names of the
// caller's certificate.
func accessKeyOf(x *exchange) [sha256.Size]byte {
	return sha256.Sum256([]byte(x.endpoint.protocol.Name + "\n" + hostOf(x.client) + "\n" + strings.Join(x.certificate, " ") + "\n" + x.authorization))
}

// hostOf is an address without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

func (a *acceptedKeys) has(who [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Now().Before(a.until[who])
}

func (a *acceptedKeys) add(who [sha256.Size]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil || len(a.until) >= maxAccepted {
		a.until = map[[sha256.Size]byte]time.Time{}
	}
	a.until[who] = time.Now().Add(acceptedFor)
}
