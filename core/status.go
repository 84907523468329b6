package core

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
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
	fault.NotSupported:         codes.Unimplemented,
	fault.BadUpstream:          codes.Unavailable,
	fault.Unavailable:          codes.Unavailable,
	fault.Overloaded:           codes.Unavailable,
	fault.Timeout:              codes.DeadlineExceeded,
	fault.Cancelled:            codes.Canceled,
}

// codeOf returns the code of what came of a call: OK for no failure. A kind of failure that this version
// does not know, as one of a newer Genway behind this one, is INTERNAL.
func codeOf(err error) codes.Code {
	if err == nil || foreign(err) {
		return status.Code(err)
	}
	if code, known := statusCodes[fault.From(err).Kind]; known {
		return code
	}
	return codes.Internal
}

// codeName is that code as gRPC spells it (rpc.response.status_code): INVALID_ARGUMENT.
func codeName(err error) string { return rpccode.Code_name[int32(codeOf(err))] }

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

// statusError returns the gRPC status of a failure: the public message, an
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
	details := append([]protoadapt.MessageV1{protoadapt.MessageV1Of(f.Detail())}, standardDetails(&f)...)
	st := status.New(codeOf(&f), f.Message)
	if detailed, err := st.WithDetails(details...); err == nil {
		st = detailed
	}
	return st.Err()
}

// errorDomain is the domain of reasons in google.rpc.ErrorInfo.
const errorDomain = "genway"

// standardDetails returns the details of google.rpc (google/rpc/error_details.proto) for
// tools that do not know ErrorDetail: ErrorInfo always, the others where they apply.
func standardDetails(f *fault.Error) []protoadapt.MessageV1 {
	details := []protoadapt.MessageV1{errorInfo(f)}
	if request := badRequest(f); request != nil {
		details = append(details, request)
	}
	if f.Quota != nil {
		details = append(details, quotaFailure(f.Quota, f.Message))
	}
	if f.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(f.RetryAfter)})
	}
	return details
}

func errorInfo(f *fault.Error) *errdetails.ErrorInfo {
	info := &errdetails.ErrorInfo{Reason: cmp.Or(f.Reason, "UNKNOWN"), Domain: errorDomain, Metadata: map[string]string{"kind": fault.Name(f.Kind)}}
	for key, value := range map[string]string{"request_id": f.RequestID, "upstream_request_id": f.UpstreamRequestID} {
		if value != "" {
			info.Metadata[key] = value
		}
	}
	return info
}

// badRequest names the members at fault; nil for none.
func badRequest(f *fault.Error) *errdetails.BadRequest {
	fields := f.Fields
	if len(fields) == 0 && f.Kind == fault.InvalidRequest && f.Param != "" {
		fields = []fault.Field{{Param: f.Param, Message: f.Message}}
	}
	if len(fields) == 0 {
		return nil
	}
	request := &errdetails.BadRequest{}
	for _, field := range fields {
		request.FieldViolations = append(request.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: strings.ToValidUTF8(field.Param, "\uFFFD"), Description: strings.ToValidUTF8(field.Message, "\uFFFD"), Reason: f.Reason,
		})
	}
	return request
}

// quotaFailure names the limit that did not admit a call. The subject is whose it is, the
// metric is as in Quota.
func quotaFailure(q *genwayv1.Quota, message string) *errdetails.QuotaFailure {
	return &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{
		Subject: q.GetScope(), Description: message, ApiService: "genway.v1.Generation", QuotaMetric: "genway/" + q.GetMetric(),
		QuotaId: fmt.Sprintf("%s per %s", q.GetUnit(), q.GetScope()), QuotaValue: q.GetLimit(),
	}}}
}
