package core

import (
	"errors"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Texts of an upstream that are no UTF-8 do not cost the caller the kind of failure.
func TestBrokenTextsKeepTheirDetail(t *testing.T) {
	f := fault.New(fault.RateLimited, "X", "slow\xff down")
	f.Param, f.NativeType, f.NativeCode, f.UpstreamRequestID = "\xff", "\xff", "\xff", "\xff"
	st := status.Convert(statusError(f, "req_1"))
	if st.Code() != codes.ResourceExhausted || len(st.Details()) != 2 {
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

// What logs and metrics have of a call is the code that its caller gets. A kind of failure that only
// a newer Genway has is no success.
func TestCodesHaveTheirNames(t *testing.T) {
	for want, err := range map[string]error{
		"OK": nil, "INTERNAL": &fault.Error{Kind: 9999}, "UNKNOWN": status.Error(codes.Unknown, "x"),
		"INVALID_ARGUMENT": fault.Missing("model"), "CANCELLED": status.Error(codes.Canceled, "x"),
	} {
		if got := codeName(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	if got := status.Code(statusError(&fault.Error{Kind: 9999}, "")); got != codes.Internal {
		t.Errorf("an unknown kind is sent as %v", got)
	}
}

// The comment of genway.v1.Generation has the code of each kind.
func TestCodesOfTheContract(t *testing.T) {
	source, err := os.ReadFile("../proto/genway/v1/generation.proto")
	if err != nil {
		t.Fatal(err)
	}
	said := map[fault.Kind]codes.Code{}
	for _, row := range regexp.MustCompile(`(?m)^//   ([A-Z_]+) +([A-Z_, ]+)$`).FindAllStringSubmatch(string(source), -1) {
		for kind := range strings.SplitSeq(row[2], ", ") {
			said[fault.Kind(genwayv1.ErrorKind_value["ERROR_KIND_"+kind])] = codes.Code(rpccode.Code_value[row[1]])
		}
	}
	if !maps.Equal(said, statusCodes) {
		t.Errorf("the contract says %v, the core %v", said, statusCodes)
	}
}

// Beside ErrorDetail there are the standard details of google.rpc.
func TestStandardDetails(t *testing.T) {
	limited := &fault.Error{Kind: fault.QuotaExhausted, Reason: ReasonBudget, Message: "spent", RetryAfter: time.Minute,
		Quota: &genwayv1.Quota{Scope: "key", Metric: "budget", Limit: 5, Period: "day", Unit: "nano-dollars/day"}}
	several := fault.New(fault.InvalidRequest, "X", "wrong")
	several.Fields = []fault.Field{{Param: "a", Message: "one"}, {Param: "b", Message: "two"}}
	for name, c := range map[string]struct {
		err  error
		want []proto.Message
	}{
		"a member": {fault.Missing("model"), []proto.Message{
			&errdetails.ErrorInfo{Reason: fault.ReasonMissingMember, Domain: "genway", Metadata: map[string]string{"kind": "invalid_request", "request_id": "req_1"}},
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "model", Description: "missing required member: model", Reason: fault.ReasonMissingMember}}},
		}},
		"several members": {several, []proto.Message{
			&errdetails.ErrorInfo{Reason: "X", Domain: "genway", Metadata: map[string]string{"kind": "invalid_request", "request_id": "req_1"}},
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "a", Description: "one", Reason: "X"}, {Field: "b", Description: "two", Reason: "X"}}},
		}},
		"a limit": {limited, []proto.Message{
			&errdetails.ErrorInfo{Reason: ReasonBudget, Domain: "genway", Metadata: map[string]string{"kind": "quota_exhausted", "request_id": "req_1"}},
			&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{
				Subject: "key", Description: "spent", ApiService: "genway.v1.Generation", QuotaMetric: "genway/budget", QuotaId: "nano-dollars/day per key", QuotaValue: 5}}},
			&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Minute)},
		}},
		"an internal text": {errors.New("secret"), []proto.Message{
			&errdetails.ErrorInfo{Reason: fault.From(errors.New("secret")).Reason, Domain: "genway", Metadata: map[string]string{"kind": "internal", "request_id": "req_1"}},
		}},
	} {
		details := status.Convert(statusError(c.err, "req_1")).Details()
		if len(details) != len(c.want)+1 {
			t.Errorf("%s: %v", name, details)
			continue
		}
		for i, want := range c.want {
			if got, ok := details[i+1].(proto.Message); !ok || !proto.Equal(got, want) {
				t.Errorf("%s: %v, want %v", name, details[i+1], want)
			}
		}
	}
}

// The table of docs/contract.md says which kind is which code.
func TestKindsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind, code := range statusCodes {
		name := strings.TrimPrefix(kind.String(), "ERROR_KIND_")
		if row := "| `" + name + "` | `" + rpccode.Code_name[int32(code)] + "` |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/contract.md has no %q", row)
		}
	}
	if rows := regexp.MustCompile("(?m)^\\| `[A-Z_]+` \\| `[A-Z_]+` \\|$").FindAll(page, -1); len(rows) != len(statusCodes) {
		t.Errorf("docs/contract.md has %d kinds of %d", len(rows), len(statusCodes))
	}
}
