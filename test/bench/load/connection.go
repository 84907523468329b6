package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// encryptedPrefix begins the address of a target that speaks TLS.
const encryptedPrefix = "https://"

// sample is one answer.
type sample struct {
	begin         time.Time // when the request was sent
	first, end    time.Time // first is when the first byte of the body came
	events, bytes int
}

// connection sends requests, one at a time. It connects when it must.
type connection struct {
	address string
	timeout time.Duration
	conn    net.Conn
	in      *bufio.Reader
	scratch []byte
	stream  events
}

func newConnection(address string, timeout time.Duration) *connection {
	return &connection{address: address, timeout: timeout, in: bufio.NewReaderSize(nil, 32<<10), scratch: make([]byte, 32<<10)}
}

func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// exchange sends a request and reads its answer to the end. After an error the next
// one has a connection of its own.
func (c *connection) exchange(ctx context.Context, job *Job) (s sample, err error) {
	if c.conn == nil {
		dialer := net.Dialer{Timeout: 5 * time.Second}
		dial := dialer.DialContext
		address, encrypted := strings.CutPrefix(c.address, encryptedPrefix)
		if encrypted {
			dial = (&tls.Dialer{NetDialer: &dialer, Config: &tls.Config{InsecureSkipVerify: true}}).DialContext //nolint:gosec // a target of ours
		}
		if c.conn, err = dial(ctx, "tcp", address); err != nil {
			c.conn = nil
			return sample{}, broken("cannot connect", err)
		}
		c.in.Reset(c.conn)
	}
	s.begin = time.Now()
	if err = c.conn.SetDeadline(time.Now().Add(c.timeout)); err == nil {
		if _, err = c.conn.Write(job.Request); err != nil {
			err = broken("cannot send", err)
		}
	}
	last := false
	if err == nil {
		last, err = c.read(&s, job.Expect)
	}
	if _, whole := errors.AsType[statusError](err); err != nil && !whole || last {
		c.close()
	}
	return s, err
}

// statusError is an answer, there in full, whose status is not 200.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }

// broken describes the end of a connection without its ports, so that failures of one
// kind are counted together.
func broken(what string, err error) error {
	if os.IsTimeout(err) {
		return errors.New(what + ": timeout")
	}
	if code, ok := errors.AsType[syscall.Errno](err); ok {
		return errors.New(what + ": " + code.Error())
	}
	return errors.New(what)
}

// head is what the body's shape depends on.
type head struct {
	status                int
	length                int // -1 is unknown
	chunked, stream, last bool
}

func (c *connection) readHead() (h head, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return h, broken("no answer", err)
	}
	if len(line) < len("HTTP/1.1 200") {
		return h, errors.New("malformed answer")
	}
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return h, errors.New("malformed answer")
	}
	h.length = -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return h, broken("cut in the headers", err)
		}
		name, value, found := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		if !found {
			return h, nil
		}
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if h.length, err = strconv.Atoi(string(value)); err != nil {
				return h, errors.New("malformed answer")
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			h.chunked = true
		case bytes.EqualFold(name, []byte("Content-Type")):
			h.stream = bytes.HasPrefix(value, []byte("text/event-stream"))
		case bytes.EqualFold(name, []byte("Connection")):
			h.last = bytes.EqualFold(value, []byte("close"))
		}
	}
}

// read reads an answer; last means that the connection ends with it.
func (c *connection) read(s *sample, expect Expect) (last bool, err error) {
	h, err := c.readHead()
	if err != nil {
		return true, err
	}
	c.stream.reset(expect)
	switch {
	case h.chunked:
		err = c.readChunks(s)
	case h.length >= 0:
		err = c.readBody(s, h.length)
	default:
		h.last = true
		if err = c.readBody(s, -1); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	s.end = time.Now()
	s.events = c.stream.count
	switch {
	case err != nil:
		return true, broken("cut in the body", err)
	case h.status != 200:
		return h.last, statusError(h.status)
	case s.bytes < expect.MinBytes:
		return true, errors.New("body too short")
	case expect.Pieces == 0:
		return h.last, nil
	case !h.stream:
		return true, errors.New("no stream of events")
	}
	return h.last, c.stream.check()
}

func (c *connection) readChunks(s *sample) error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
		n, err := strconv.ParseUint(string(size), 16, 31)
		if err != nil {
			return err
		}
		if n == 0 {
			return c.readTrailer()
		}
		if err := c.readBody(s, int(n)); err != nil {
			return err
		}
		if _, err := c.in.Discard(len("\r\n")); err != nil {
			return err
		}
	}
}

func (c *connection) readTrailer() error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil || len(bytes.TrimSpace(line)) == 0 {
			return err
		}
	}
}

// readBody takes n bytes of the body, or all there are when n is negative.
func (c *connection) readBody(s *sample, n int) error {
	for n != 0 {
		p := c.scratch
		if n > 0 {
			p = p[:min(n, len(p))]
		}
		k, err := c.in.Read(p)
		if k > 0 {
			if s.first.IsZero() {
				s.first = time.Now()
			}
			s.bytes += k
			n -= k
			if c.stream.expect.Pieces > 0 {
				c.stream.feed(p[:k])
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
