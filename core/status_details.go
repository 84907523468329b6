package core

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/limit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// errorDomain is the domain of reasons in google.rpc.ErrorInfo.
const errorDomain = "genway"

// standardDetails gives the details of google.rpc (google/rpc/error_details.proto) for
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
	metric := "genway/" + q.GetMetric()
	unit := ""
	if q.GetPeriod() != "" {
		unit = "nano-dollars/" + q.GetPeriod()
	}
	for _, kind := range limit.Kinds {
		if kind.Counts == q.GetMetric() {
			unit = kind.Unit
		}
	}
	return &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{
		Subject: q.GetScope(), Description: message, ApiService: "genway.v1.Generation", QuotaMetric: metric,
		QuotaId: fmt.Sprintf("%s per %s", unit, q.GetScope()), QuotaValue: q.GetLimit(),
	}}}
}
