package intake

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// Call is one call while its messages come in.
type Call struct {
	intake     *Intake
	who        Caller
	connection *connection
	shares     [4]share
	ctx        context.Context //nolint:containedctx // It is the call's own, which ends the reading when it is cut.
	cut        context.CancelCauseFunc

	mu        sync.Mutex
	timer     *time.Timer
	receiving bool
	ended     bool
	window    int64 // bytes that have come since the window began
	// sending is set while a message waits to be given to gRPC, since others before it are not taken; stalled, when it has
	// waited for stallAfter.
	sending, stalled bool

	// answers are the messages that gRPC has been given, and that are not on their way yet; over is set when the call has ended.
	answers atomic.Int64
	over    atomic.Bool

	// Those below are the intake's mu's. held is what the call holds.
	held      amount
	forgotten bool
}

var (
	// errSlow is why a call is cut whose message comes too slowly.
	errSlow = errors.New("intake: the message came too slowly")
	// errNotTaken is why a call is cut whose answer is not taken.
	errNotTaken = errors.New("intake: the answer was not taken")
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
	// stallAfter is how long an answer waits for what is before it to be taken, until the call counts as one whose answer
	// is not taken.
	stallAfter = time.Second
	// takeWithin is how long it waits until the call is cut, and once more for each takePiece that waits: as an edge waits
	// for its callers by default.
	takeWithin = time.Minute
	takePiece  = 64 << 10
)

// source is a call's stream inside of grpc-go.
type source interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
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
	cause := context.Cause(c.ctx) //nolint:contextcheck // that of the call, which its own context inherits
	switch {
	case errors.Is(cause, errSlow):
		return fault.New(fault.Timeout, "MESSAGE_TIMEOUT", "the request message did not arrive in time; it must come at %d bytes a second", minRate)
	case errors.Is(cause, errEnding):
		return ending()
	case errors.Is(err, io.EOF) && only:
		return malformed("the call has no request message")
	case err != nil:
		return err
	}
	c.come()
	if err := codec.Unmarshal(data, m); err != nil {
		return undecoded(err, m)
	}
	return nil
}

// Send sends one message, in the place of grpc.ServerStream's SendMsg. Its bytes are claimed until the client has room for
// them in its window. The error is a *fault.Error where the caller has too many that wait.
func (c *Call) Send(stream grpc.ServerStream, m any) error {
	message, err := transport.Encode(m)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	n := int64(message.Len())
	if n <= free {
		n = 0
	}
	if n > 0 && !c.claim(n) {
		message.Free()
		return c.notTaken()
	}
	if c.answers.Add(1) > 1 { // gRPC may wait for the client to take those before
		c.wait()
		defer c.waited()
	}
	err = stream.SendMsg(message.Then(func() { c.taken(n) }))
	if err != nil && errors.Is(context.Cause(c.ctx), errNotTaken) {
		return fault.New(fault.Timeout, "ANSWER_TIMEOUT", "the client did not take the answer in time; it must take %d bytes in %v", takePiece, takeWithin)
	}
	return err
}

// wait has a message wait for those before it.
func (c *Call) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended && !c.receiving {
		c.sending = true
		c.timer.Reset(stallAfter)
	}
}

// waited ends the wait.
func (c *Call) waited() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sending {
		return
	}
	c.timer.Stop()
	if c.stalled {
		c.stall(-1)
	}
	c.sending, c.stalled = false, false
}

// message reads the bytes of a message.
func (c *Call) message(in source) (mem.BufferSlice, error) {
	var head [5]byte // a flag for compression, and the length
	if err := in.ReadMessageHeader(head[:]); err != nil {
		return nil, cutShort(err)
	}
	compressed := head[0] != 0
	if compressed && in.RecvCompress() != gzipName {
		return nil, fault.New(fault.UnsupportedMediaType, ReasonCompressedMessage, "compressed request messages are accepted by gzip alone; send grpc-encoding: gzip, or no compression")
	}
	size, most := int64(binary.BigEndian.Uint32(head[1:])), c.most()
	if size > most {
		return nil, tooLarge(size, most)
	}
	// What can never fit is refused for good, and not as the messages for which there may be
	// room later.
	if share := c.minShare() + free; size > share {
		return nil, tooLarge(size, share)
	}
	if compressed {
		return c.inflate(in, size, most)
	}
	// The bytes are copied: frames may be small, and the memory of each is larger than what it carries.
	var data mem.BufferSlice
	for come, room := int64(0), min(size, free); come < size; room = min(step, size-come) {
		if come > 0 {
			if err := c.grow(room); err != nil {
				return nil, err
			}
		}
		part := make([]byte, room)
		for rest := part; len(rest) > 0; {
			n := min(piece, len(rest))
			next, err := in.Read(n)
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return nil, cutShort(err)
			}
			next.CopyTo(rest)
			next.Free()
			rest = rest[n:]
			c.progress(int64(n))
		}
		data, come = append(data, mem.SliceBuffer(part)), come+room
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
	case c.ended:
	case c.sending && !c.stalled:
		c.stalled = true
		c.timer.Reset(takeWithin * time.Duration(1+c.stall(1)/takePiece))
	case c.sending:
		c.cut(errNotTaken)
	case !c.receiving:
	case float64(c.window+piece) < minRate*c.intake.config.Window.Seconds() || c.window == 0: // a piece may be there in part
		c.cut(errSlow)
	default:
		c.window = 0
		c.timer.Reset(c.intake.config.Window)
	}
}
