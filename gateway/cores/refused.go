package cores

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// maxRefusals is how many cores may refuse a call before the caller gets the error.
const maxRefusals = 3

// refusal is how a core has refused a call, as transport.RefusedKey announces it.
type refusal int32

const (
	notRefused refusal = iota
	refusedUnavailable
	refusedOverloaded
)

func refusalOf(trailer metadata.MD) refusal {
	values := trailer[transport.RefusedKey]
	if len(values) != 1 {
		return notRefused
	}
	switch values[0] {
	case transport.RefusedUnavailable:
		return refusedUnavailable
	case transport.RefusedOverloaded:
		return refusedOverloaded
	}
	return notRefused
}

// call is one call at one core after another. A nil one is sent once.
type call struct {
	refusals []*core // those that have refused it
	at       atomic.Pointer[core]
	last     atomic.Int32 // the refusal at the end of the last attempt
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

func (c *call) refusedBy(one *core) bool { return c != nil && slices.Contains(c.refusals, one) }

func (c *call) sentTo(one *core) {
	if c != nil {
		c.at.Store(one)
		c.last.Store(int32(notRefused))
	}
}

func (c *call) ended(r refusal) {
	if c != nil {
		c.last.Store(int32(r))
	}
}

// again reports whether a failed call may be sent to another core, and notes that this one
// has refused it.
func (c *call) again(err error) bool {
	if err == nil || refusal(c.last.Load()) == notRefused || len(c.refusals) == maxRefusals-1 {
		return false
	}
	c.last.Store(int32(notRefused))
	c.refusals = append(c.refusals, c.at.Swap(nil))
	return true
}

// or returns the error of the last attempt, or the first refusal if that attempt got to no core.
func (c *call) or(first, last error) error {
	if c.at.Load() == nil {
		return first
	}
	return last
}

// sendElsewhere sends a unary call that a core has refused to another one. The caller gets the
// first refusal if no other core takes it.
func sendElsewhere(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	c := &call{}
	ctx = context.WithValue(ctx, callKey{}, c)
	first := invoke(ctx, method, req, reply, conn, opts...)
	last := first
	for c.again(last) {
		if last = invoke(ctx, method, req, reply, conn, opts...); last == nil {
			return nil
		}
	}
	return c.or(first, last)
}

// streamElsewhere does so for calls with one request and a stream of answers.
func streamElsewhere(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if desc.ClientStreams {
		return streamer(ctx, desc, conn, method, opts...)
	}
	c := &call{}
	ctx = context.WithValue(ctx, callKey{}, c)
	open := func() (grpc.ClientStream, error) { return streamer(ctx, desc, conn, method, opts...) }
	first, err := open()
	if err != nil {
		return nil, err
	}
	return &refusable{ClientStream: first, call: c, open: open}, nil
}

// refusable is a stream that is started again at another core while cores refuse it.
type refusable struct {
	grpc.ClientStream
	call    *call
	open    func() (grpc.ClientStream, error)
	request any
	begun   bool
}

// SendMsg sends the request.
func (r *refusable) SendMsg(m any) error {
	r.request = m
	return r.ClientStream.SendMsg(m)
}

// RecvMsg returns the next answer. The first one may come from another core.
func (r *refusable) RecvMsg(m any) error {
	err := r.ClientStream.RecvMsg(m)
	if r.begun {
		return err
	}
	r.begun = true
	last := err
	for r.call.again(last) {
		if last = r.restart(m); last == nil {
			break
		}
	}
	r.request = nil
	if last == nil {
		return nil
	}
	return r.call.or(err, last)
}

// restart sends the request to another core and waits for its first answer.
func (r *refusable) restart(m any) error {
	next, err := r.open()
	if err != nil {
		return err
	}
	r.ClientStream = next
	if err := next.SendMsg(r.request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := next.CloseSend(); err != nil {
		return err
	}
	return next.RecvMsg(m)
}
