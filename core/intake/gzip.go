package intake

import (
	"compress/gzip"
	"errors"
	"io"

	"github.com/genway/genway/codec/fault"
	"google.golang.org/grpc/mem"
)

// gzipName is the only compression of messages that is taken, as grpc-encoding names it.
const gzipName = "gzip"

// inflating is what the state of inflating a message takes, in bytes.
const inflating = step

// arriving reads the bytes of a message as they come.
type arriving struct {
	call *Call
	in   source
	left int64
	err  error // what ended the reading early
}

func (a *arriving) Read(p []byte) (int, error) {
	if a.left == 0 {
		return 0, io.EOF
	}
	n := int(min(piece, a.left, int64(len(p))))
	next, err := a.in.Read(n)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		a.err = cutShort(err)
		return 0, a.err
	}
	next.CopyTo(p)
	next.Free()
	a.left -= int64(n)
	a.call.progress(int64(n))
	return n, nil
}

// inflate reads a message of size bytes that is compressed by gzip. What it inflates to is bounded, and claimed, as it
// is inflated: the bytes that came are not kept.
func (c *Call) inflate(in source, size, most int64) (mem.BufferSlice, error) {
	if err := c.grow(inflating); err != nil {
		return nil, err
	}
	coming := &arriving{call: c, in: in, left: size}
	broken := func() error {
		if coming.err != nil {
			return coming.err
		}
		return malformed("the request message is not what its grpc-encoding says")
	}
	plain, err := gzip.NewReader(coming)
	if err != nil {
		return nil, broken()
	}
	most = min(most, c.minShare()+free-inflating)
	var data mem.BufferSlice
	for inflated, room := int64(0), int64(free); ; room = step {
		if inflated > 0 {
			if err := c.grow(room); err != nil {
				return nil, err
			}
		}
		part := make([]byte, room)
		n, err := io.ReadFull(plain, part)
		if inflated += int64(n); inflated > most {
			return nil, fault.New(fault.TooLarge, ReasonMessageTooLarge, "the request message inflates to more than the %d bytes that are accepted", most)
		}
		if n > 0 {
			data = append(data, mem.SliceBuffer(part[:n]))
		}
		switch {
		case err == nil:
		case (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && atEndOf(plain, coming):
			return data, nil
		default:
			return nil, broken()
		}
	}
}

// atEndOf reports whether a reader that returned fewer bytes than were asked for is at its proper end. ReadFull does not tell
// that from an end in the middle.
func atEndOf(plain io.Reader, coming *arriving) bool {
	n, err := plain.Read(make([]byte, 1))
	return n == 0 && errors.Is(err, io.EOF) && coming.left == 0
}
