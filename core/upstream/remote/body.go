package remote

import (
	"errors"
	"io"

	"github.com/genway/genway/internal/arena"
)

const (
	// trusted is how much room is made for a body on an upstream's word.
	trusted = 4 << 20
	// unsaid is the room for one that does not say its size, as it begins.
	unsaid = 4 << 10
	// piece is how much room is made at once for what comes beyond.
	piece = 1 << 20
)

// whole reads all of the answer's body. decoded says that the texts in it will be copied.
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
	return raw, nil
}

// read gives the body, in the call's memory, if it has no more than most bytes. Memory
// grows as the bytes come.
func (a *answer) read(most int64) ([]byte, error) {
	if a.size > most {
		return nil, a.upstream.tooLarge()
	}
	room := int64(unsaid)
	if a.size > 0 {
		room = min(a.size, trusted)
	}
	if err := a.hold(room); err != nil {
		return nil, err
	}
	memory := arena.Of(a.ctx)
	whole := memory.Make(int(room))
	for n := 0; ; {
		more, ended, err := a.fillUp(whole[n:])
		n += more
		switch {
		case err != nil:
			return nil, err
		case int64(n) > most:
			return nil, a.upstream.tooLarge()
		case ended, int64(n) == a.size:
			return whole[:n], a.complete(n)
		case n >= piece:
			return a.readPieces(whole, most)
		}
		if err := a.hold(int64(3 * n)); err != nil { // both, while one is copied
			return nil, err
		}
		whole = memory.Grow(whole, 2*n)
	}
}

// readPieces gives a body that goes on behind its first piece. The pieces are of one size,
// so that those of a body which turns out to be too large serve the next.
func (a *answer) readPieces(first []byte, most int64) ([]byte, error) {
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
		case int64(total) > most:
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

// complete demands that a body is as long as its Content-Length.
func (a *answer) complete(n int) error {
	if a.size > 0 && int64(n) < a.size {
		return io.ErrUnexpectedEOF
	}
	return nil
}
