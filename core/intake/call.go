package intake

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Call is one call while its messages come in.
type Call struct {
	intake     *Intake
	who        Caller
	connection *peer.Peer
	ctx        context.Context //nolint:containedctx // It is the call's own, which ends the reading when it is cut.
	cut        context.CancelCauseFunc

	mu        sync.Mutex
	timer     *time.Timer
	receiving bool
	ended     bool
	window    int64 // bytes that have come since the window began
	held      int64 // bytes of the budget
}

var (
	// errSlow is why a call is cut whose message comes too slowly.
	errSlow = errors.New("intake: the message came too slowly")
	// errEnding is why a call without a key is cut when the server ends.
	errEnding = errors.New("intake: the server is ending")
)

const (
	// piece is what is read at once, in bytes.
	piece = 4 << 10
	// step is what is claimed of the budget at once.
	step = 64 << 10
	// free is what needs no claim: the messages of health checks, which must be answered
	// when others have used up the budget.
	free = piece
)

// source is a call's stream inside of grpc-go.
type source interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
}

// Receive reads one message into m, in the place of grpc.ServerStream's RecvMsg; ctx is
// that of the ServerStream. With only, nothing may follow the message. Bytes are
// claimed as they come: what a caller only announces costs nothing. The claim lasts until
// the call ends or receives its next message.
//
// Errors are io.EOF where no message follows, a *fault.Error where a bound is reached or the
// caller has sent something else than one message, and gRPC statuses otherwise.
func (c *Call) Receive(ctx context.Context, m any, codec encoding.CodecV2, only bool) error {
	in, ok := grpc.ServerTransportStreamFromContext(ctx).(source)
	if !ok {
		return status.Error(codes.Internal, "the stream of this version of grpc-go cannot be read in pieces")
	}
	c.begin()
	data, err := c.message(in)
	if err == nil && only {
		err = atEnd(in)
	}
	c.received()
	defer data.Free()
	cause := context.Cause(c.ctx) //nolint:contextcheck // that of the call, which its own context inherits
	switch {
	case errors.Is(cause, errSlow):
		return fault.New(fault.Timeout, "MESSAGE_TIMEOUT", "the request message did not arrive in time; it must come at %d bytes a second", leastRate)
	case errors.Is(cause, errEnding):
		return ending()
	case errors.Is(err, io.EOF) && only:
		return malformed("the call has no request message")
	case err != nil:
		return err
	}
	if err := codec.Unmarshal(data, m); err != nil {
		return undecoded(err, m)
	}
	return nil
}

// message reads the bytes of a message.
func (c *Call) message(in source) (mem.BufferSlice, error) {
	var head [5]byte // a flag for compression, and the length
	if err := in.ReadMessageHeader(head[:]); err != nil {
		return nil, cutShort(err)
	}
	if head[0] != 0 { // what it inflates to could not be bounded as it comes
		return nil, fault.New(fault.UnsupportedMediaType, ReasonCompressedMessage, "compressed request messages are not accepted; send them without compression")
	}
	size, most := int64(binary.BigEndian.Uint32(head[1:])), c.most()
	if size > most {
		return nil, tooLarge(size, most)
	}
	// What can never fit is refused for good, and not as the messages for which there may be
	// room later.
	if share := c.leastShare() + free; size > share {
		return nil, tooLarge(size, share)
	}
	var data mem.BufferSlice
	claimed := min(size, free)
	for come := int64(0); come < size; {
		if come == claimed {
			more := min(step, size-claimed)
			if err := c.grow(more); err != nil {
				return data, err
			}
			claimed += more
		}
		n := min(piece, claimed-come)
		next, err := in.Read(int(n))
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return data, cutShort(err)
		}
		data, come = append(data, next...), come+n
		c.progress(n)
	}
	return data, nil
}

// atEnd fails unless the caller has nothing more to send.
func atEnd(in source) error {
	var head [5]byte
	switch err := in.ReadMessageHeader(head[:]); {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return malformed("the call has more than one request message")
	default:
		return cutShort(err)
	}
}

// most bounds the call's messages, in bytes.
func (c *Call) most() int64 {
	if c.who.Keyless {
		return min(keylessMessage, int64(c.intake.config.MaxMessageBytes))
	}
	return int64(c.intake.config.MaxMessageBytes)
}

// begin waits for the next message. It restarts the timer unless a message is awaited already.
func (c *Call) begin() {
	c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.receiving && !c.ended {
		c.receiving, c.window = true, 0
		c.timer.Reset(c.intake.config.Window)
	}
}

// received is the end of a message.
func (c *Call) received() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.receiving = false
	c.timer.Stop()
}

func (c *Call) progress(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.window += n
}

// review cuts the call at the end of a window in which too little has come.
func (c *Call) review() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.receiving || c.ended:
	case float64(c.window+piece) < leastRate*c.intake.config.Window.Seconds() || c.window == 0: // a piece may be there in part
		c.cut(errSlow)
	default:
		c.window = 0
		c.timer.Reset(c.intake.config.Window)
	}
}

// end gives back what the call holds.
func (c *Call) end() {
	c.mu.Lock()
	c.ended = true
	c.timer.Stop()
	c.mu.Unlock()
	c.release()
	c.intake.close(c)
}
