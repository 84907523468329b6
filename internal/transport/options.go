package transport

import (
	"compress/gzip"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
)

// MaxMessageBytes is the largest message by default: gRPC's own limit of 4 MiB is too
// small for images.
const MaxMessageBytes = 128 << 20

const (
	// buffer is the size of one read or write, in place of 32 KiB. It saves a tenth of the
	// time of an image of 1.5 MB. Buffers are used only while bytes are read or written.
	buffer = 128 << 10
	// window is the flow-control window of a call. That of a connection is four times as
	// large.
	window = 1 << 20
	// workers keep their stacks from call to call. The stack of a new goroutine grows step
	// by step, which is a seventh of the cost of a short call. A call that finds all workers
	// busy gets a goroutine of its own.
	workers = 64
)

// DialOptions are the options of the client.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(Codec{}), grpc.MaxCallRecvMsgSize(MaxMessageBytes), grpc.MaxCallSendMsgSize(MaxMessageBytes)),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(4 * window),
		grpc.WithReadBufferSize(buffer),
		grpc.WithWriteBufferSize(buffer),
		grpc.WithUnaryInterceptor(awaiting),
		grpc.WithStreamInterceptor(lending),
		experimental.WithBufferPool(frames),
	}
}

// ServerOptions are the options of a server that takes messages up to a size, compressed by gzip or not, and does not
// compress its answers.
func ServerOptions(maxMessageBytes int) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(Codec{}),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxSendMsgSize(maxMessageBytes),
		//nolint:staticcheck // A registered compressor would compress the answers, too, and each edge would announce it in each call.
		grpc.RPCDecompressor(inflater{most: int64(maxMessageBytes)}),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(4 * window),
		grpc.ReadBufferSize(buffer),
		grpc.WriteBufferSize(buffer),
		grpc.NumStreamWorkers(workers),
		experimental.BufferPool(frames),
	}
}

// inflater takes messages that are compressed by gzip, up to so many bytes inflated and one more, which gRPC refuses.
type inflater struct{ most int64 }

// Type is the name of the compression.
func (inflater) Type() string { return "gzip" }

// Do inflates a message.
func (i inflater) Do(compressed io.Reader) ([]byte, error) {
	plain, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(plain, i.most+1))
}
