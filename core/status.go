package core

import (
	"errors"
	"strings"

	"github.com/genway/genway/codec/fault"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
)

// statusCodes is the one table from kinds to gRPC codes.
var statusCodes = map[fault.Kind]codes.Code{
	fault.InvalidRequest:       codes.InvalidArgument,
	fault.Unauthenticated:      codes.Unauthenticated,
	fault.PermissionDenied:     codes.PermissionDenied,
	fault.NotFound:             codes.NotFound,
	fault.MethodNotAllowed:     codes.Unimplemented,
	fault.Conflict:             codes.Aborted,
	fault.TooLarge:             codes.ResourceExhausted, // as gRPC says of its own limits
	fault.UnsupportedMediaType: codes.Unimplemented,     // as gRPC says of compression
	fault.Unprocessable:        codes.FailedPrecondition,
	fault.UpgradeRequired:      codes.FailedPrecondition,
	fault.RateLimited:          codes.ResourceExhausted,
	fault.QuotaExhausted:       codes.ResourceExhausted,
	fault.Internal:             codes.Internal,
	fault.BadUpstream:          codes.Unavailable,
	fault.Unavailable:          codes.Unavailable,
	fault.Overloaded:           codes.Unavailable,
	fault.Timeout:              codes.DeadlineExceeded,
	fault.Cancelled:            codes.Canceled,
}

// codeNames are the names of codes as gRPC spells them.
var codeNames = map[codes.Code]string{
	codes.OK: "OK", codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT", codes.DeadlineExceeded: "DEADLINE_EXCEEDED",
	codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS", codes.PermissionDenied: "PERMISSION_DENIED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE", codes.Unimplemented: "UNIMPLEMENTED",
	codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE", codes.DataLoss: "DATA_LOSS", codes.Unauthenticated: "UNAUTHENTICATED",
}

// foreign reports whether an error is a gRPC status already: the transport's own,
// when sending to a caller who has left.
func foreign(err error) bool {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return false
	}
	_, ok := status.FromError(err)
	return ok
}

// maxWireError bounds the upstream's own error body in a status: it travels in
// trailers, which are bounded too.
const maxWireError = 64 << 10

// statusError gives the gRPC status of a failure: the public message, an
// ErrorDetail, and the standard details of google.rpc.
func statusError(err error, requestID string) error {
	if err == nil {
		return nil
	}
	f := *fault.From(err)
	f.RequestID = requestID
	f.Bound()
	// One wrong byte of an upstream's, and the whole detail could not be sent.
	for _, text := range []*string{&f.Reason, &f.Message, &f.Param, &f.NativeType, &f.NativeCode, &f.UpstreamRequestID} {
		*text = strings.ToValidUTF8(*text, "\uFFFD")
	}
	if len(f.Wire.GetJson()) > maxWireError {
		f.Wire = nil
	}
	code, ok := statusCodes[f.Kind]
	if !ok {
		code = codes.Internal
	}
	details := append([]protoadapt.MessageV1{protoadapt.MessageV1Of(f.Detail())}, standardDetails(&f)...)
	st := status.New(code, f.Message)
	if detailed, err := st.WithDetails(details...); err == nil {
		st = detailed
	}
	return st.Err()
}
