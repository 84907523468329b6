// Package intake bounds what calls over the gRPC port cost while their messages come in and their answers wait to be
// taken, for callers that are no edge: how many calls are open without a key or without their message, how large a message
// may be and how slowly it may come, how many answers wait, and how many bytes of all of these are in memory.
//
// grpc-go has one limit of messages and one of streams for all callers of a server. A caller
// is known by the headers of its call, so that the bounds of intake begin at
// grpc.InTapHandle and hold while Receive reads and Send waits. It must not import the edge.
package intake

import (
	"context"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/internal/frames"
	"google.golang.org/grpc/peer"
)

// minRate is the least rate of a message, in bytes per second over a window.
const minRate = 1000

// Config says what may be taken in. The zero value has the defaults.
type Config struct {
	// Memory bounds the bytes of all request messages that are in memory. One key and one address may each have half of
	// it. Answers that wait to be taken may have half as much beside them, and those of one key a quarter. Default 512 MiB, at
	// least four times MaxMessageBytes.
	Memory int64
	// MaxMessageBytes bounds one message of a caller with a key. Required.
	MaxMessageBytes int
	// Window is the time in which a message must come, or as much of it as the least rate
	// demands (1,000 bytes a second). Default 30 s.
	Window time.Duration
}

// Intake keeps the account of all calls of a server.
type Intake struct {
	config Config

	mu          sync.Mutex
	holders     map[holder]*amount
	draining    bool
	keyless     map[*Call]struct{}
	connections map[*peer.Peer]*connection
}

// connection is one with calls that are open, or whose answers wait.
type connection struct {
	peer  *peer.Peer
	calls map[*Call]struct{}
	// watched reports that the end of the connection will be noticed. That of the server's own user, on a unix socket, is not, and its
	// answers are taken.
	watched bool
}

// New makes an account.
func New(config Config) *Intake {
	if config.Memory == 0 {
		config.Memory = max(512<<20, 4*int64(config.MaxMessageBytes))
	}
	if config.Window == 0 {
		config.Window = 30 * time.Second
	}
	return &Intake{config: config, holders: map[holder]*amount{}, keyless: map[*Call]struct{}{}, connections: map[*peer.Peer]*connection{}}
}

// Caller is the caller of a call that begins.
type Caller struct {
	// Key is the identifier of the caller's key.
	Key string
	// Keyless is a caller of a method that needs no key.
	Keyless bool
	// Address is the caller's, without a port; empty where there is none.
	Address string
}

// Begin takes a call into the account, until ctx ends and its answer is taken. The result carries it, for Of. The
// error is a *fault.Error.
func (i *Intake) Begin(ctx context.Context, who Caller) (context.Context, error) {
	from, _ := peer.FromContext(ctx)
	ctx, cut := context.WithCancelCause(ctx)
	call := &Call{intake: i, who: who, ctx: ctx, cut: cut, receiving: true}
	if err := i.open(call, from); err != nil {
		cut(err)
		return ctx, err
	}
	call.mu.Lock()
	call.timer = time.AfterFunc(i.config.Window, call.review)
	call.mu.Unlock()
	context.AfterFunc(ctx, call.end)
	return context.WithValue(ctx, callKey{}, call), nil
}

// open counts a call.
func (i *Intake) open(c *Call, from *peer.Peer) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c.who.Keyless && i.draining {
		return ending()
	}
	known := i.connections[from]
	if c.connection = known; known == nil {
		c.connection = &connection{peer: from, calls: map[*Call]struct{}{}}
	}
	c.shares = i.sharesOf(c.who, c.connection)
	switch {
	case !c.fits(amount{untaken: 1}):
		return c.notTaken()
	case !c.fits(amount{calls: 1}):
		return c.crowded()
	}
	if known == nil {
		i.connections[from] = c.connection
		c.connection.watched = from != nil && frames.OnClose(from.Addr, func() { i.closed(c.connection) })
	}
	c.take(amount{calls: 1})
	c.connection.calls[c] = struct{}{}
	if c.who.Keyless {
		i.keyless[c] = struct{}{}
	}
	return nil
}

// ending is the answer to calls that come too late.
func ending() error {
	return fault.New(fault.Unavailable, fault.ReasonShuttingDown, "the server is shutting down; try again")
}

// Drain ends the calls without a key and takes no more of them: those who watch the health of a server would hold up
// its end for as long as they like.
func (i *Intake) Drain() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.draining = true
	for c := range i.keyless {
		c.cut(errEnding)
	}
}

type callKey struct{}

// Of returns the call that ctx belongs to; nil for the calls of edges, which bound what
// their callers send themselves.
func Of(ctx context.Context) *Call {
	call, _ := ctx.Value(callKey{}).(*Call)
	return call
}

type refusedKey struct{}

// Refuse marks a call that must be refused with err before its message is read, for a tap
// that cannot refuse it: grpc-go does not release the timer of a call with a deadline that a
// tap refuses, until that deadline.
func Refuse(ctx context.Context, err error) context.Context {
	return context.WithValue(ctx, refusedKey{}, err)
}

// Refused returns what Refuse has marked the call with; nil for a call that goes on.
func Refused(ctx context.Context) error {
	err, _ := ctx.Value(refusedKey{}).(error)
	return err
}
