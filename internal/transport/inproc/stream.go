package inproc

import (
	"context"
	"io"
	"runtime"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// ahead is how many messages may wait for the client before the server waits.
const ahead = 16

// NewStream makes a call whose answer is a stream. The handler runs on a goroutine of
// its own from the client's only message on; it ends with the call, or when ctx does.
func (c *Channel) NewStream(ctx context.Context, _ *grpc.StreamDesc, name string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	m := c.methods[name]
	if m.stream == nil {
		return nil, unimplemented(name)
	}
	server, cancel := context.WithCancel(isolated{ctx})
	call := newCall(ctx, server, name)
	call.cancel, call.sent = cancel, make(chan struct{})
	return &clientStream{channel: c, method: m, call: call, client: ctx, messages: make(chan any, ahead)}, nil
}

// clientStream is the client's side of a stream.
type clientStream struct {
	channel  *Channel
	method   method
	call     *call
	client   context.Context //nolint:containedctx // grpc.ClientStream hands it out.
	messages chan any
	err      error // why it ended; set before messages is closed
	begun    bool
}

func (s *clientStream) Context() context.Context { return s.client }
func (s *clientStream) CloseSend() error         { return nil }

// Header waits for the header, or the end of the stream.
func (s *clientStream) Header() (metadata.MD, error) {
	select {
	case <-s.call.sent:
	case <-s.client.Done():
		return nil, status.FromContextError(s.client.Err()).Err()
	}
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	return s.call.metadata(), nil
}

// Trailer returns the trailer of a stream that has ended.
func (s *clientStream) Trailer() metadata.MD {
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	return s.call.trailer
}

// SendMsg sends the request and starts the handler.
func (s *clientStream) SendMsg(request any) error {
	if s.begun {
		return status.Error(codes.Internal, "inproc: a second message on a stream of the server")
	}
	s.begun = true
	go s.serve(request)
	return nil
}

func (s *clientStream) serve(request any) {
	growStack()
	server := &serverStream{call: s.call, request: request, messages: s.messages}
	var err error
	if s.channel.Stream == nil {
		err = s.method.stream.Handler(s.method.service, server)
	} else {
		info := &grpc.StreamServerInfo{FullMethod: s.call.name, IsServerStream: true}
		err = s.channel.Stream(s.method.service, server, info, s.method.stream.Handler)
	}
	if s.err = io.EOF; err != nil {
		s.err = statusOf(err)
	}
	s.call.mu.Lock()
	s.call.closeHeader()
	s.call.mu.Unlock()
	s.call.cancel()
	close(s.messages)
}

// growStack has the goroutine's stack grow while there is next to nothing on it. Handlers
// need more than 8 KiB, and a stack that doubles three times under ever deeper calls
// costs a twentieth of a stream of 200 events.
//
//go:noinline
func growStack() {
	var room [9 << 10]byte
	runtime.KeepAlive(&room)
}

// RecvMsg takes the next message.
func (s *clientStream) RecvMsg(into any) error {
	select {
	case message, ok := <-s.messages:
		if !ok {
			return s.End()
		}
		return hand(into, message)
	case <-s.client.Done():
		return status.FromContextError(s.client.Err()).Err()
	}
}

// Messages are what RecvMsg takes from, for a client that waits for other things besides,
// and takes the messages as they were sent. They are closed at the end of the stream.
func (s *clientStream) Messages() <-chan any { return s.messages }

// End says why the stream ended, once the messages are closed: io.EOF or a status.
func (s *clientStream) End() error {
	if s.client.Err() != nil && s.err != io.EOF { //nolint:errorlint // it is our own value
		return status.FromContextError(s.client.Err()).Err()
	}
	return s.err
}

// serverStream is the handler's side of a stream.
type serverStream struct {
	*call
	request  any
	messages chan<- any
	begun    bool // a message is sent
}

func (s *serverStream) Context() context.Context { return s.ctx }

// SetTrailer adds to the trailer.
func (s *serverStream) SetTrailer(md metadata.MD) { _ = s.call.SetTrailer(md) }

// RecvMsg returns the request, once.
func (s *serverStream) RecvMsg(into any) error {
	if s.request == nil {
		return io.EOF
	}
	err := hand(into, s.request)
	s.request = nil
	return err
}

// SendMsg sends a message, and the header before the first.
func (s *serverStream) SendMsg(message any) error {
	if !s.begun {
		s.begun = true
		s.mu.Lock()
		s.closeHeader()
		s.mu.Unlock()
	}
	select { // most find room, and to wait for two things costs more
	case s.messages <- message:
		return nil
	default:
	}
	select {
	case s.messages <- message:
		return nil
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}
