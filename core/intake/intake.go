// Package intake bounds what calls over the gRPC port cost while their messages come in,
// for callers that are no edge: how many calls without a key are open, how large a message
// may be, how many bytes of messages are in memory, and how slowly they may come.
//
// grpc-go has one limit of messages and one of streams for all callers of a server. A caller
// is known by the headers of its call, so that the bounds of intake begin at
// grpc.InTapHandle and hold while Receive reads. It must not import the edge.
package intake

import (
	"context"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	"google.golang.org/grpc/peer"
)

// Bounds of callers that have shown no key. The methods that need none, health and
// reflection, have messages of less than a kilobyte.
const (
	keylessMessage = 4 << 20
	keylessMemory  = 16 << 20
	// keylessCalls are those that one connection may have open, and one address over all
	// of its connections keylessCallsOfAddress.
	keylessCalls          = 250
	keylessCallsOfAddress = 1000
	// keylessUnread are the answers to calls that have ended and wait for room in the window of their connection. Each
	// takes some 4 KiB.
	keylessUnread = 50
)

// leastRate is the least rate of a message, in bytes per second over a window.
const leastRate = 1000

// Config says what may be taken in. The zero value has the defaults.
type Config struct {
	// Memory bounds the bytes of all messages that are in memory. One key and one address
	// may each have half of it. Default 512 MiB, at least four times MaxMessageBytes.
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

	mu        sync.Mutex
	held      int64
	shares    map[string]int64
	draining  bool
	keyless   map[*Call]struct{}
	calls     map[*peer.Peer]int // without a key, by connection
	live      map[*peer.Peer]int // of all callers that are no edge, by connection
	addresses map[string]int     // likewise, by address
}

// New makes an account.
func New(config Config) *Intake {
	if config.Memory == 0 {
		config.Memory = max(512<<20, 4*int64(config.MaxMessageBytes))
	}
	if config.Window == 0 {
		config.Window = 30 * time.Second
	}
	return &Intake{config: config, shares: map[string]int64{}, keyless: map[*Call]struct{}{}, calls: map[*peer.Peer]int{}, live: map[*peer.Peer]int{}, addresses: map[string]int{}}
}

// Caller is the caller of a call that begins.
type Caller struct {
	// Key is the identifier of the caller's key.
	Key string
	// Keyless is a caller of a method that needs no key.
	Keyless bool
	// Address is the caller's, without a port; empty where there is none.
	Address string
	// Unread is how many answers the connection of a Keyless caller has begun and not ended.
	Unread int
}

// Begin takes a call into the account, until ctx ends. The result carries it, for Of. The
// error is a *fault.Error.
func (i *Intake) Begin(ctx context.Context, who Caller) (context.Context, error) {
	connection, _ := peer.FromContext(ctx)
	ctx, cut := context.WithCancelCause(ctx)
	call := &Call{intake: i, who: who, connection: connection, ctx: ctx, cut: cut, receiving: true}
	if err := i.open(call); err != nil {
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
func (i *Intake) open(c *Call) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !c.who.Keyless {
		i.live[c.connection]++
		return nil
	}
	if i.draining {
		return ending()
	}
	if c.who.Unread-i.live[c.connection] >= keylessUnread {
		return fault.New(fault.RateLimited, "CALLS_WITHOUT_KEY",
			"the client does not take its answers: %d wait for room in its window; at most %d may, for calls without an API key", c.who.Unread-i.live[c.connection], keylessUnread)
	}
	if i.calls[c.connection] >= keylessCalls || i.addresses[c.who.Address] >= keylessCallsOfAddress {
		return fault.New(fault.RateLimited, "CALLS_WITHOUT_KEY",
			"too many calls without an API key are open; at most %d on a connection and %d from an address", keylessCalls, keylessCallsOfAddress)
	}
	i.keyless[c] = struct{}{}
	i.live[c.connection]++
	i.calls[c.connection]++
	i.addresses[c.who.Address]++
	return nil
}

// close is the end of what open has counted.
func (i *Intake) close(c *Call) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.live[c.connection]--; i.live[c.connection] == 0 {
		delete(i.live, c.connection)
	}
	if !c.who.Keyless {
		return
	}
	delete(i.keyless, c)
	if i.calls[c.connection]--; i.calls[c.connection] == 0 {
		delete(i.calls, c.connection)
	}
	if i.addresses[c.who.Address]--; i.addresses[c.who.Address] == 0 {
		delete(i.addresses, c.who.Address)
	}
}

// ending is the answer to calls that come too late.
func ending() error {
	return fault.New(fault.Unavailable, "SHUTTING_DOWN", "the server is shutting down; try again")
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

// Of gives the call that ctx belongs to; nil for the calls of edges, which bound what
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

// Refused gives what Refuse has marked the call with; nil for a call that goes on.
func Refused(ctx context.Context) error {
	err, _ := ctx.Value(refusedKey{}).(error)
	return err
}
