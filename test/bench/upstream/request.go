package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// request is what an answer depends on.
type request struct {
	path, query string
	stream      bool // the body asks for events
	last        bool // the caller closes after it
}

// reader reads the requests of one connection, one after the other, into memory that
// it keeps.
type reader struct {
	in   *bufio.Reader
	body []byte
}

var errMalformed = errors.New("upstream: malformed request")

// next reads a request to its end. accept is written to when the caller waits for
// leave to send its body.
func (r *reader) next(accept io.Writer) (request, error) {
	line, err := r.in.ReadSlice('\n')
	if err != nil {
		return request{}, err
	}
	fields := bytes.SplitN(line, []byte(" "), 3)
	if len(fields) < 3 {
		return request{}, errMalformed
	}
	path, query, _ := bytes.Cut(fields[1], []byte("?"))
	req := request{path: string(path), query: string(query)}
	length, chunked := 0, false
	for {
		line, err := r.in.ReadSlice('\n')
		if err != nil {
			return request{}, err
		}
		name, value, found := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		if !found {
			break
		}
		value = bytes.TrimSpace(value)
		switch {
		case equalFold(name, "content-length"):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return request{}, errMalformed
			}
		case equalFold(name, "transfer-encoding"):
			chunked = true
		case equalFold(name, "connection"):
			req.last = equalFold(value, "close")
		case equalFold(name, "expect"):
			if _, err := io.WriteString(accept, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
				return request{}, err
			}
		}
	}
	r.body = r.body[:0]
	if chunked {
		err = r.readChunks()
	} else {
		err = r.readBody(length)
	}
	req.stream = asksForEvents(r.body)
	return req, err
}

// asksForEvents looks for the member where callers put it: of a large body, which would
// take longer to search than to read, at both ends alone.
func asksForEvents(body []byte) bool {
	const end = 4 << 10
	if len(body) > 2*end {
		return asksForEvents(body[:end]) || asksForEvents(body[len(body)-end:])
	}
	return bytes.Contains(body, []byte(`"stream":true`)) || bytes.Contains(body, []byte(`"stream": true`))
}

// equalFold spares most headers a comparison letter by letter.
func equalFold(name []byte, lower string) bool {
	return len(name) == len(lower) && bytes.EqualFold(name, []byte(lower))
}

func (r *reader) readChunks() error {
	for {
		line, err := r.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
		n, err := strconv.ParseUint(string(size), 16, 31)
		if err != nil {
			return errMalformed
		}
		if err := r.readBody(int(n)); err != nil {
			return err
		}
		if _, err := r.in.Discard(len("\r\n")); err != nil || n == 0 {
			return err
		}
	}
}

// readBody appends n bytes to the body.
func (r *reader) readBody(n int) error {
	start := len(r.body)
	if cap(r.body) < start+n {
		r.body = append(make([]byte, 0, 2*(start+n)), r.body...)
	}
	r.body = r.body[:start+n]
	_, err := io.ReadFull(r.in, r.body[start:])
	return err
}
