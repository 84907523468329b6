package fault_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

func TestInternalTextsStayInside(t *testing.T) {
	f := fault.From(fmt.Errorf("read /secret/path: %w", errors.New("boom")))
	if f.Kind != fault.Internal || f.Message != fault.InternalMessage || f.Detail().GetMessage() != fault.InternalMessage {
		t.Errorf("%+v", f)
	}
	if f.Error() != fault.InternalMessage+": read /secret/path: boom" {
		t.Errorf("the log gets %q", f.Error())
	}
}

func TestDecidedOnce(t *testing.T) {
	first := fault.Missing("model")
	if got := fault.From(fmt.Errorf("decode: %w", first)); got != first {
		t.Errorf("got %v", got)
	}
	if fault.From(nil) != nil {
		t.Error("no error is a fault")
	}
}

// What crosses gRPC comes back as it was, but for the cause.
func TestDetailRoundTrip(t *testing.T) {
	want := fault.Error{Kind: fault.RateLimited, Reason: "R", Message: "m", Param: "p", Status: 429, RetryAfter: 2 * time.Second,
		RequestID: "req", UpstreamRequestID: "up", NativeType: "t", NativeCode: "c", Wire: &genwayv1.WireMessage{Json: []byte("{}")}}
	got := fault.FromDetail(want.Detail())
	if diff := cmp.Diff(&want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every kind of the contract has a status of its own choosing, and statuses of
// upstreams come back as the kinds they stand for.
func TestStatuses(t *testing.T) {
	for number := range genwayv1.ErrorKind_name {
		kind := genwayv1.ErrorKind(number)
		if kind == 0 {
			continue
		}
		status := (&fault.Error{Kind: kind}).HTTPStatus()
		if kind != fault.Internal && status == 500 {
			t.Errorf("%v has no status", kind)
		}
		if status < 500 && kind != fault.QuotaExhausted && kind != fault.UpgradeRequired && fault.KindOf(status) != kind {
			t.Errorf("%v is %d, which is %v", kind, status, fault.KindOf(status))
		}
	}
	for status, kind := range map[int]fault.Kind{418: fault.InvalidRequest, 500: fault.BadUpstream, 529: fault.Overloaded, 503: fault.Unavailable, 408: fault.Timeout} {
		if got := fault.KindOf(status); got != kind {
			t.Errorf("%d is %v", status, got)
		}
	}
}
