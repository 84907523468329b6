package gateway

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"google.golang.org/grpc/status"
)

// readBody reads a whole request body, bounded before and after decompression, in memory
// of the edge's budget for bodies. The caller may be slow, but must make progress.
func (e *Edge) readBody(x *exchange, r *http.Request) ([]byte, error) {
	most := e.config.MaxBodyBytes
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	up := newUpload(r.Body, x, e.config)
	access := func() error { return e.access(r.Context(), x) }
	if readsFreely(r) {
		up.access = access
	} else if err := access(); err != nil {
		return nil, err
	}
	raw, err := readAll(up, r.ContentLength, most, x.claim.grow)
	x.w.readDeadline(0)
	if err != nil {
		return nil, err
	}
	x.w.bodyRead = true
	var plain io.ReadCloser
	switch encoding := contentEncoding(r.Header); encoding {
	case "":
		return raw, nil
	case "gzip", "x-gzip":
		plain, err = gzip.NewReader(bytes.NewReader(raw))
	case "deflate":
		plain, err = zlib.NewReader(bytes.NewReader(raw))
	default:
		return nil, fault.New(fault.UnsupportedMediaType, "CONTENT_ENCODING", "content-encoding %q is not supported; send gzip, deflate or none", clip(encoding, 32))
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidRequest, "CONTENT_ENCODING", "the body is not what its content-encoding says")
	}
	defer plain.Close()
	r.Header.Del("Content-Encoding")
	return readAll(plain, -1, most, x.claim.grow)
}

// contentEncoding is how a body is compressed; empty is not at all.
func contentEncoding(h http.Header) string {
	encoding := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding")))
	if encoding == "identity" {
		return ""
	}
	return encoding
}

// readAll reads up to most bytes; sized is what the sender announced, or -1. Memory is
// made as bytes come, and grow is asked ahead of each piece of it: what a sender only
// announces costs nothing.
func readAll(r io.Reader, sized, most int64, grow func(int64) error) ([]byte, error) {
	end := most + 1
	if sized >= 0 {
		end = sized
	}
	var body []byte
	for room := min(end, firstRoomOf(sized)); ; room = min(end, nextRoom(room, sized)) {
		if err := grow(room - int64(cap(body))); err != nil {
			return nil, err
		}
		larger := make([]byte, room)
		have := copy(larger, body)
		n, err := io.ReadFull(r, larger[have:])
		body = larger[:have+n]
		switch {
		case err != nil && sized < 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
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

// firstRoomOf is the first piece of memory for a body. A small one that is announced has
// all of it at once; the first bytes of any other have to come.
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
	return fault.Wrap(err, fault.InvalidRequest, "BODY_UNREADABLE", "the request body could not be read to its end")
}

// upload is a body on its way in. It moves the connection's read deadline on with every
// read, and gives up on a sender that is slower than the least rate over a window.
type upload struct {
	r       io.Reader
	w       *answerWriter
	timeout time.Duration
	// access, if set, is asked once freeTime is over: an error ends the reading.
	access func() error
	// least is how many bytes must come within a window, which is as long as timeout.
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
