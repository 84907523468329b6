package gateway

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fail answers with only the failure, in the caller's protocol. The status line
// must not have been sent.
func (x *exchange) fail(err error) {
	if x.w.status != 0 || x.w.finished {
		return
	}
	f := x.reported(err)
	x.fault = &f
	code, body := x.endpoint.protocol.ErrorCodec().EncodeError(&f)
	h := x.w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Trailer", "Transfer-Encoding", "X-Genway-Lost"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/json")
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(f.RetryAfter.Seconds())), 10))
		h.Set("Retry-After-Ms", strconv.FormatInt(f.RetryAfter.Milliseconds(), 10))
	}
	x.writeSpent(&f)
	if permanent(code, f.Kind) {
		h.Set("X-Should-Retry", "false")
	}
	if x.asked != nil {
		body = x.failedMessage(&f)
	} else {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.w.WriteHeader(code)
	_, _ = x.w.Write(body)
	x.w.finished = true
}

// reported returns a failure as the caller sees it, with the caller's names of members.
func (x *exchange) reported(err error) fault.Error {
	f := *faultOf(err)
	f.RequestID = x.id
	f.Bound()
	if f.Wire != nil {
		return f
	}
	if f.Reason == fault.ReasonInvalidKey && f.Kind == fault.Unauthenticated && x.authorization != "" { // the core's word on the key
		f = *x.invalidKey(&f)
	}
	if _, ours := errors.AsType[*fault.Error](err); !ours {
		x.spells().Fault(&f)
	}
	protocol.Subject(&f)
	return f
}

// permanent reports whether the same request would fail again. The SDKs of two vendors read
// that from a header. Without it some clients retry a wrong key for minutes.
func permanent(status int, kind fault.Kind) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict:
		return false
	case http.StatusTooManyRequests:
		return kind == fault.QuotaExhausted
	case http.StatusNotImplemented:
		return true
	}
	return status < 500
}

// failAnywhere reports the failure by the status line, or in band once that is sent.
func (x *exchange) failAnywhere(err error) {
	switch {
	case x.w.status == 0:
		x.fail(err)
	case x.stream != nil && !x.w.finished:
		f := x.reported(err)
		x.fault = &f
		_, _ = x.w.Write(x.stream.fail(&f))
		x.w.hold = nil
		_ = x.w.FlushError()
		x.w.finished = true
	}
}

func handleError(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, _ http.ResponseWriter, _ *http.Request, err error) {
	x := exchangeOf(ctx)
	if x.record.rpc == "" { // no call was made
		err = parameterFault(err)
	}
	x.fail(shutdownOr(ctx, err))
}

// parameterFault converts the runtime's refusal of a parameter of the path or the query that has the
// wrong type. Its text names the parameter and nothing internal.
func parameterFault(err error) error {
	st, ok := status.FromError(err)
	if !ok || st.Code() != codes.InvalidArgument {
		return err
	}
	return fault.Wrap(err, fault.InvalidRequest, fault.ReasonInvalidMember, "a path or query parameter has the wrong type: %s",
		clip(strings.TrimSpace(lastClause(st.Message())), 160))
}

// handleStreamError writes the protocol's error event. It has the context, which the
// marshaler lacks. The runtime adds nothing to it.
func handleStreamError(ctx context.Context, err error) *status.Status {
	exchangeOf(ctx).failAnywhere(shutdownOr(ctx, err))
	return status.New(codes.Unknown, "")
}

// handleRoutingError gets paths that the edge has matched and the contract does not bind: a
// fault of ours, or a model name that the pattern does not match.
func handleRoutingError(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, _ int) {
	if _, seeking := w.(*handlerProbe); seeking {
		return
	}
	exchangeOf(ctx).fail(exchangeOf(ctx).endpoint.edge.paths.notFound(r.URL))
}

// faultOf converts an error of the core's client to a fault. A status without our detail
// comes from the transport; its text is internal and is not shown to the caller.
func faultOf(err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	st, ok := status.FromError(err)
	if !ok {
		return fault.From(err)
	}
	for _, d := range st.Details() {
		if detail, ok := d.(*genwayv1.ErrorDetail); ok {
			return fault.FromDetail(detail)
		}
	}
	switch st.Code() { //nolint:exhaustive // all others are a fault of ours
	case codes.Unavailable:
		f = fault.Wrap(err, fault.Unavailable, fault.ReasonCoreUnreachable, "the service is temporarily unavailable; try again")
		f.RetryAfter = time.Second
		return f
	case codes.DeadlineExceeded:
		return fault.Wrap(err, fault.Timeout, "DEADLINE", "the answer did not come in time")
	case codes.Canceled:
		return fault.Wrap(err, fault.Cancelled, "CANCELLED", "the request was cancelled")
	case codes.ResourceExhausted:
		if messageTooLarge(st.Message()) {
			return fault.Wrap(err, fault.TooLarge, fault.ReasonBodyTooLarge, "the request or its answer is too large")
		}
		f = fault.Wrap(err, fault.RateLimited, reasonCoreBusy, "the service is at its limit; try again")
		f.RetryAfter = time.Second
		return f
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return fault.Wrap(err, fault.InvalidRequest, reasonCoreRefused, "the service refused the request")
	case codes.Unauthenticated:
		return fault.Wrap(err, fault.Unauthenticated, reasonCoreRefused, "the key is missing or not valid")
	case codes.PermissionDenied:
		return fault.Wrap(err, fault.PermissionDenied, reasonCoreRefused, "the key may not be used for this request")
	case codes.NotFound:
		return fault.Wrap(err, fault.NotFound, reasonCoreRefused, "the service does not have what the request names, such as its model")
	case codes.Unimplemented:
		return fault.Wrap(err, fault.NotFound, reasonUnimplemented, "the service does not offer this")
	}
	return fault.Wrap(err, fault.Internal, "INTERNAL", "%s", fault.InternalMessage)
}

// Reasons of statuses without our detail, as cores of other makes may send.
const (
	reasonCoreBusy      = "CORE_BUSY"
	reasonCoreRefused   = "CORE_REFUSED"
	reasonUnimplemented = "UNIMPLEMENTED"
)

// messageTooLarge reports whether a RESOURCE_EXHAUSTED comes from gRPC itself for a message that is too large,
// by the words of its implementations in Go, Node.js, Python and Java.
func messageTooLarge(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "larger than max") || strings.Contains(text, "too large") || strings.Contains(text, "exceeds maximum")
}

// lastClause cuts Go's chain of causes down to the first, which names the
// parameter.
func lastClause(text string) string {
	head, _, _ := strings.Cut(text, ", error: ")
	head, _, _ = strings.Cut(head, ": strconv.")
	return head
}
