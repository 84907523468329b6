package h2spec

// What fails, and whose it is. None of it lets a stranger take more than is bounded
// elsewhere: each of these requests is refused by other means, or ignored.
const (
	bothProtocols = "ours: the port speaks HTTP/1.1 as well, in which the answer is: 400, and the end of the connection"
	duplicates    = "net/http: a SETTINGS frame with a parameter twice ends the connection"
	answered400   = "net/http: the request is answered 400, where the suite wants the stream reset"

	grpcRefusal   = "grpc-go: the call is refused by a status, where the suite wants the stream reset"
	grpcIdle      = "grpc-go: frames of streams that were not opened are ignored"
	grpcClosed    = "grpc-go: frames of streams that are over are ignored, or the call is answered ahead of them"
	grpcPriority  = "grpc-go: priorities are ignored, those of a stream on itself too"
	grpcSettings  = "grpc-go: values of SETTINGS that mean nothing to a server are not checked"
	grpcFlow      = "grpc-go: a window above 2^31-1 is taken for a large one"
	grpcNoData    = "grpc: a call without a key is answered without DATA, which the suite waits for"
	grpcStreams   = "ours: an edge may open 10,000 calls on one connection; those of strangers are bounded ahead of that"
	grpcPush      = "grpc-go: PUSH_PROMISE of a client is ignored"
	grpcGoAway    = "grpc-go: the connection ends without GOAWAY"
	grpcLengths   = "grpc-go: content-length is not looked at, as gRPC has its own lengths"
	grpcFields    = "grpc-go: pseudo-header fields that gRPC has no use for are not asked for"
	grpcInvalidTE = "grpc-go: te is not looked at"
)

var httpFailures = map[string]string{
	"http2/3.5/2":     bothProtocols,
	"http2/6.5.3/1":   duplicates,
	"http2/8.1.2.2/1": answered400,
	"http2/8.1.2.2/2": answered400,
}

var grpcFailures = map[string]string{
	"generic/2/2":     grpcNoData,
	"generic/2/3":     grpcNoData,
	"http2/5.1/1":     grpcIdle,
	"http2/5.1/2":     grpcIdle,
	"http2/5.1/3":     grpcIdle,
	"http2/5.1/5":     grpcClosed,
	"http2/5.1/8":     grpcClosed,
	"http2/5.1/11":    grpcClosed,
	"http2/5.1.2/1":   grpcStreams,
	"http2/5.3.1/1":   grpcPriority,
	"http2/5.3.1/2":   grpcPriority,
	"http2/5.4.1/2":   grpcGoAway,
	"http2/6.1/2":     grpcClosed,
	"http2/6.4/2":     grpcIdle,
	"http2/6.5.2/1":   grpcSettings,
	"http2/6.5.2/3":   grpcSettings,
	"http2/6.5.2/4":   grpcSettings,
	"http2/6.9.1/2":   grpcFlow,
	"http2/6.9.1/3":   grpcFlow,
	"http2/8.1.2.2/2": grpcInvalidTE,
	"http2/8.1.2.3/1": grpcRefusal,
	"http2/8.1.2.3/2": grpcRefusal,
	"http2/8.1.2.3/3": grpcFields,
	"http2/8.1.2.3/4": grpcRefusal,
	"http2/8.1.2.6/1": grpcLengths,
	"http2/8.1.2.6/2": grpcLengths,
	"http2/8.2/1":     grpcPush,
}
