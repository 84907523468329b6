// Package inproc connects a gRPC client and a service in one process without a network: a
// unary call is a call of the handler, a stream is a channel of messages. Both sides see what
// they would see over a connection: metadata both ways, statuses, cancellation, deadlines, and
// no other value of the client's context. Messages are handed over and not copied, and a
// unary answer may be in the client's arena. The sender of a message must not use it again.
//
// It works with any service and must not import one of ours.
package inproc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Channel is a connection to the services registered with it. It supports unary calls and
// server streams, and no client streams. Services must be registered before the first call.
// Calls are safe for concurrent use.
type Channel struct {
	// Unary and Stream intercept the calls; nil intercepts none.
	Unary  grpc.UnaryServerInterceptor
	Stream grpc.StreamServerInterceptor

	methods map[string]method
}

type method struct {
	service any
	unary   *grpc.MethodDesc
	stream  *grpc.StreamDesc
}

var (
	_ grpc.ClientConnInterface = (*Channel)(nil)
	_ grpc.ServiceRegistrar    = (*Channel)(nil)
)

// RegisterService makes a service's methods callable.
func (c *Channel) RegisterService(desc *grpc.ServiceDesc, service any) {
	if c.methods == nil {
		c.methods = map[string]method{}
	}
	prefix := "/" + desc.ServiceName + "/"
	for i := range desc.Methods {
		c.methods[prefix+desc.Methods[i].MethodName] = method{service: service, unary: &desc.Methods[i]}
	}
	for i := range desc.Streams {
		if !desc.Streams[i].ClientStreams {
			c.methods[prefix+desc.Streams[i].StreamName] = method{service: service, stream: &desc.Streams[i]}
		}
	}
}

// Invoke makes a unary call on the caller's goroutine.
func (c *Channel) Invoke(ctx context.Context, name string, args, reply any, opts ...grpc.CallOption) error {
	m := c.methods[name]
	if m.unary == nil {
		return unimplemented(name)
	}
	call := newCall(ctx, isolated{ctx}, name)
	if memory := arena.Of(ctx); memory != nil {
		call.ctx = arena.With(call.ctx, memory)
	}
	resp, err := m.unary.Handler(m.service, call.ctx, func(in any) error { return hand(in, args) }, c.Unary) //nolint:contextcheck // made of ctx
	call.tell(opts)
	switch {
	case err != nil && ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case err != nil:
		return statusOf(err)
	}
	return hand(reply, resp)
}

func unimplemented(name string) error {
	return status.Errorf(codes.Unimplemented, "unknown method %s", name)
}

// hand returns what a message holds to another of its type.
func hand(to, from any) error {
	dst, ok := to.(proto.Message)
	src, same := from.(proto.Message)
	if !ok || !same {
		return status.Error(codes.Internal, fmt.Sprintf("inproc: a %T where a message is wanted", from))
	}
	codec.Share(dst, src)
	return nil
}

// statusOf makes a status of a handler's error, as a server does.
func statusOf(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Unknown, err.Error())
}

// tell sets a call's header and trailer in the call options that ask for them. A header that is asked for as fields is
// nothing else.
func (c *call) tell(opts []grpc.CallOption) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range opts {
		if o, ok := o.(transport.FieldsCallOption); ok {
			*o.Fields = c.fields.Take()
		}
	}
	for _, o := range opts {
		switch o := o.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = c.metadata()
		case grpc.TrailerCallOption:
			*o.TrailerAddr = c.trailer
		}
	}
}

// call is the server's side of a call: its context, and what it says in metadata.
type call struct {
	ctx    context.Context    //nolint:containedctx // handlers get it from here.
	cancel context.CancelFunc // ends ctx; nil for unary calls, whose handlers run on their callers' goroutines
	sent   chan struct{}      // closed when the header is; nil for unary calls
	name   string
	md     metadata.MD // that the call came with

	headerStore
}

// Incoming is the metadata that the call came with, by names in lower case.
func (c *call) Incoming() metadata.MD { return c.md }

// newCall makes the server's side of a client's call, whose context is derived from server.
func newCall(client, server context.Context, name string) *call {
	c := &call{name: name, md: transport.OutgoingOf(client)}
	server = metadata.NewIncomingContext(server, c.md)
	c.ctx = grpc.NewContextWithServerTransportStream(server, c)
	return c
}

// isolated passes a client's cancellation and deadline on, and none of its values.
type isolated struct{ context.Context } //nolint:containedctx // it is one

// Value returns what package context finds the nearest context by that can be cancelled; its key is a *int. Otherwise
// each context derived from this one had a chain of hooks in place of an entry in a map.
func (i isolated) Value(key any) any {
	if _, ok := key.(*int); ok {
		return i.Context.Value(key)
	}
	return nil
}

// AfterFunc spares contexts derived from this one a goroutine each that waits for it.
func (i isolated) AfterFunc(f func()) func() bool { return context.AfterFunc(i.Context, f) }

// headerStore gathers the metadata a handler sends.
type headerStore struct {
	mu      sync.Mutex
	header  metadata.MD
	fields  transport.Header // of the header as well
	trailer metadata.MD
	closed  bool // the header is sent
}

var _ grpc.ServerTransportStream = (*call)(nil)

// Method is the name of the call.
func (c *call) Method() string { return c.name }

// SetHeader adds to the header; an error once it is sent.
func (c *call) SetHeader(md metadata.MD) error { return c.setHeader(md, false) }

// SendHeader adds to the header and sends it.
func (c *call) SendHeader(md metadata.MD) error { return c.setHeader(md, true) }

// Fields gathers what transport.SetHeader adds to the header.
func (c *call) Fields() *transport.Header { return &c.fields }

// metadata returns the header as metadata; the caller holds mu. Once it is sent nothing is added.
func (c *call) metadata() metadata.MD {
	if !c.closed {
		for _, f := range c.fields.Take() {
			c.header = added(c.header, metadata.MD{f.Name: {f.Value}})
		}
	}
	return c.header
}

func (c *call) setHeader(md metadata.MD, send bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return status.Error(codes.Internal, "inproc: the header is sent already")
	}
	c.header = added(c.header, md)
	if send {
		c.closeHeader()
	}
	return nil
}

// closeHeader sends the header, unless it is; the caller holds mu.
func (c *call) closeHeader() {
	if c.closed {
		return
	}
	c.header, c.closed = c.metadata(), true
	if c.sent != nil {
		close(c.sent)
	}
}

// SetTrailer adds to the trailer.
func (c *call) SetTrailer(md metadata.MD) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trailer = added(c.trailer, md)
	return nil
}

// added returns to with the values of more behind its own. Neither shares a map or a list
// with the caller. Keys are in lower case: a connection takes no others.
func added(to, more metadata.MD) metadata.MD {
	if to == nil {
		to = make(metadata.MD, len(more))
	}
	n := 0
	for _, v := range more {
		n += len(v)
	}
	values := make([]string, 0, n) // of all keys, in one piece
	for k, v := range more {
		if len(to[k]) > 0 {
			to[k] = append(to[k], v...)
			continue
		}
		values = append(values, v...)
		to[k] = slices.Clip(values[len(values)-len(v):])
	}
	return to
}
