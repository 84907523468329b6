package core

import (
	"testing"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Texts of an upstream that are no UTF-8 do not cost the caller the kind of failure.
func TestBrokenTextsKeepTheirDetail(t *testing.T) {
	f := fault.New(fault.RateLimited, "X", "slow\xff down")
	f.Param, f.NativeType, f.NativeCode, f.UpstreamRequestID = "\xff", "\xff", "\xff", "\xff"
	st := status.Convert(statusError(f, "req_1"))
	if st.Code() != codes.ResourceExhausted || len(st.Details()) != 1 {
		t.Fatalf("%v, %v", st, st.Details())
	}
	detail, ok := st.Details()[0].(*genwayv1.ErrorDetail)
	if !ok || detail.GetMessage() != "slow\uFFFD down" || detail.GetKind() != fault.RateLimited {
		t.Errorf("%v", detail)
	}
	if f.Message != "slow\xff down" {
		t.Error("the fault itself was changed")
	}
}
