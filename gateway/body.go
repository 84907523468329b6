package gateway

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
)

// readBody reads a whole request body, bounded before and after decompression.
// The caller may be slow, but must make progress.
func (e *Edge) readBody(w *answerWriter, r *http.Request) ([]byte, error) {
	most := e.config.MaxBodyBytes
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	raw, err := readAll(&progressReader{r: r.Body, w: w, timeout: e.config.BodyTimeout}, r.ContentLength, most)
	w.readDeadline(0)
	if err != nil {
		return nil, err
	}
	var plain io.ReadCloser
	switch encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
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
	return readAll(plain, -1, most)
}

// readAll reads up to most bytes; sized is what the sender announced, or -1.
func readAll(r io.Reader, sized, most int64) ([]byte, error) {
	if sized > 0 { // the server has bounded it already
		body := make([]byte, sized)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, bodyFault(err)
		}
		return body, nil
	}
	var buf bytes.Buffer
	n, err := buf.ReadFrom(io.LimitReader(r, most+1))
	if n > most {
		return nil, tooLarge(most)
	}
	if err != nil {
		return nil, bodyFault(err)
	}
	return buf.Bytes(), nil
}

func tooLarge(most int64) error {
	return fault.New(fault.TooLarge, fault.ReasonBodyTooLarge, "the request body is larger than %d bytes", most)
}

func bodyFault(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		e := fault.Wrap(err, fault.Timeout, "BODY_TIMEOUT", "the request body did not arrive in time")
		e.Status = http.StatusRequestTimeout
		return e
	}
	return fault.Wrap(err, fault.InvalidRequest, "BODY_UNREADABLE", "the request body could not be read to its end")
}

// progressReader moves the connection's read deadline on with every read.
type progressReader struct {
	r       io.Reader
	w       *answerWriter
	timeout time.Duration
}

func (p *progressReader) Read(b []byte) (int, error) {
	p.w.readDeadline(p.timeout)
	return p.r.Read(b)
}
