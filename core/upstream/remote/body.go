package remote

import (
	"bytes"
	"errors"
	"io"

	"github.com/genway/genway/internal/arena"
)

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

// byteOrderMark is ahead of the JSON of some servers. RFC 8259, 8.1 lets readers ignore it, and the
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
// those of a body that turns out to be too large are used again for the next body.
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

// complete gives an error for a body that is shorter than its Content-Length.
func (a *answer) complete(n int) error {
	if a.size > 0 && int64(n) < a.size {
		return io.ErrUnexpectedEOF
	}
	return nil
}
