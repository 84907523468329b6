package generation

import (
	"context"
	"errors"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// faultOf returns the fault of a status: the one in its details, if it is not of our
// credentials, else by its code, without its text.
func faultOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), errIdle) {
		return upstream.Late(errIdle)
	}
	if ctx.Err() != nil {
		return upstream.Interrupted(ctx)
	}
	st := status.Convert(err)
	if st.Code() == codes.Unauthenticated || st.Code() == codes.PermissionDenied {
		return upstream.CredentialsRefused(err)
	}
	for _, d := range st.Details() {
		if detail, ok := d.(*genwayv1.ErrorDetail); ok {
			f := fault.FromDetail(detail)
			switch f.Reason {
			case fault.ReasonOverloaded, fault.ReasonUpstreamBusy: // not of this process: edges distinguish them
				f.Reason = "UPSTREAM_OVERLOADED"
			}
			f.UpstreamRequestID, f.RequestID = f.RequestID, ""
			return f
		}
	}
	switch st.Code() { //nolint:exhaustive // all others mean that it failed
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return fault.Wrap(err, fault.InvalidRequest, "UPSTREAM_REFUSED", "the upstream refused the request")
	case codes.NotFound:
		return fault.Wrap(err, fault.NotFound, fault.ReasonModelNotFound, "the upstream does not know this model")
	case codes.ResourceExhausted:
		return fault.Wrap(err, fault.RateLimited, "UPSTREAM_BUSY", "the upstream is at its limit; try again")
	case codes.Unimplemented: // such as CountTokens, which an upstream need not have
		return fault.Wrap(err, fault.NotSupported, fault.ReasonNotSupported, "the upstream does not offer this operation")
	case codes.DeadlineExceeded:
		return upstream.Late(err)
	case codes.Unavailable:
		return upstream.Unreachable(err)
	}
	return fault.Wrap(err, fault.BadUpstream, "UPSTREAM_FAILED", "the upstream failed")
}
