package hop

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
)

// MaxMessageBytes is the largest message by default: gRPC's own limit of 4 MiB is too
// small for images.
const MaxMessageBytes = 128 << 20

const (
	// buffer is what is read or written at once, in place of 32 KiB: a tenth less for
	// an image of 1.5 MB. It is in use only while there is something to read or write.
	buffer = 128 << 10
	// window is what a call may send unread, and a connection four times as much.
	window = 1 << 20
	// workers keep their stacks from call to call. A new goroutine's is grown step by
	// step in each call, which is a seventh of what a short call costs. Calls that find
	// all of them busy get a goroutine of their own.
	workers = 64
)

// DialOptions are the client's.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(Codec{}), grpc.MaxCallRecvMsgSize(MaxMessageBytes), grpc.MaxCallSendMsgSize(MaxMessageBytes)),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(4 * window),
		grpc.WithReadBufferSize(buffer),
		grpc.WithWriteBufferSize(buffer),
		grpc.WithUnaryInterceptor(awaiting),
		experimental.WithBufferPool(frames),
	}
}

// ServerOptions are the server's, for messages up to a size.
func ServerOptions(maxMessageBytes int) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(Codec{}),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxSendMsgSize(maxMessageBytes),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(4 * window),
		grpc.ReadBufferSize(buffer),
		grpc.WriteBufferSize(buffer),
		grpc.NumStreamWorkers(workers),
		experimental.BufferPool(frames),
	}
}
