package gateway

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/internal/arena"
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

// decompress gives the body that raw is the compressed form of. Nothing may be behind it.
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

// lend gives the memory for a body that a core reads over a connection; nil for the collector's. A
// core in this process may look at a body after the request (a capture), and nobody says when it
// no longer does.
func (e *Edge) lend(x *exchange, r *http.Request) *arena.Arena {
	if !e.remote || r.ContentLength < arena.Least || contentEncoding(r.Header) != "" {
		return nil
	}
	x.lent = arena.NewBody()
	return &x.lent.Arena
}

// contentEncoding gives the compression of a body, of which several fields are one list (RFC 9110,
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
// from io.ErrUnexpectedEOF: that of a body which is cut off.
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

// firstRoomOf gives the size of the first piece of memory for a body. A small announced body
// gets all of its memory at once. Other bodies get firstRoom until their first bytes arrive.
func firstRoomOf(sized int64) int64 {
	if sized >= 0 && sized <= freeBody {
		return sized
	}
	return firstRoom
}

// nextRoom is the piece of memory behind one that is full. A body that is announced gets
// all of its memory once leastRoom is there: each piece less is a copy less.
func nextRoom(room, sized int64) int64 {
	switch {
	case sized < 0:
		return room * roomGrowth
	case room < leastRoom:
		return leastRoom
	}
	return sized
}

// The first piece of memory for a body that is large or not announced, the least that the
// second has where the size is announced, and how many times larger each further one is, in bytes.
const (
	firstRoom  = 1 << 10
	leastRoom  = 1 << 20
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
