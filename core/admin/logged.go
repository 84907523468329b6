package admin

import (
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func logged(entries []ledger.Located) []*adminv1.LoggedRequest {
	var list []*adminv1.LoggedRequest
	for _, e := range entries {
		list = append(list, loggedRequest(e))
	}
	return list
}

// loggedRequest is an entry as the contract has it.
func loggedRequest(e ledger.Located) *adminv1.LoggedRequest {
	m := &adminv1.LoggedRequest{
		Id: idOf(e.Process, e.Number), RequestId: e.ID, KeyId: e.KeyID, Owner: e.Owner, Protocol: e.Protocol, Method: e.Method,
		Model: e.Request.Model, StartTime: timestamppb.New(e.Start), Outcome: outcomeOf(e.Outcome), Kind: e.Kind, Reason: e.Reason,
		Route: e.Route, Upstream: e.Upstream, UpstreamProtocol: e.UpstreamProtocol, Attempts: e.Attempts, ServedModel: e.Result.Model,
		CostNanoDollars: e.Cost, Price: e.Price, Duration: some(e.Duration), FirstEvent: some(e.FirstEvent), TraceId: e.TraceID,
	}
	if e.Losses != "" {
		m.Losses = strings.Split(e.Losses, ",")
	}
	if e.Outcome != ledger.Open && e.Outcome != ledger.Interrupted {
		m.Usage = &adminv1.RequestUsage{Source: string(e.UsageSource)}
		setKinds(m.Usage, &e.Usage)
		m.Unpriced, m.Charges = e.IsUnpriced(), chargesOf(e.Entry)
	}
	return m
}

// chargesOf are an entry's charges as the contract has them; none where they cannot be read, which ledger check reports.
func chargesOf(e *ledger.Entry) (list []*adminv1.RequestCharge) {
	charges, _ := ledger.ParseCharges(e)
	for i := range charges {
		c := &charges[i]
		m := &adminv1.RequestCharge{
			Upstream: c.Upstream, Model: c.Model, Kind: c.Kind, ServiceTier: c.ServiceTier, Speed: c.Speed, InferenceGeo: c.InferenceGeo,
			Usage: &adminv1.RequestUsage{}, ToolCalls: c.Calls, CostNanoDollars: c.Cost, Price: c.Price, Unpriced: c.Unpriced,
		}
		setKinds(m.Usage, &c.Usage)
		list = append(list, m)
	}
	return list
}

// setKinds sets the fields of a message that have the names of ledger.Kinds.
func setKinds(m proto.Message, u *ledger.Usage) {
	to := m.ProtoReflect()
	fields := to.Descriptor().Fields()
	for _, k := range ledger.Kinds {
		if n := *u.At(k); n != 0 {
			to.Set(fields.ByName(protoreflect.Name(k.Name)), protoreflect.ValueOfInt64(n))
		}
	}
}

// timeline is what a request went through as the contract has it.
func timeline(t ledger.Timeline) *adminv1.RequestTimeline {
	m := &adminv1.RequestTimeline{Admitted: some(t.Admitted), Settled: some(t.Settled)}
	m.LimitsBegin, m.LimitsEnd = span(t.Limits)
	m.RouteBegin, m.RouteEnd = span(t.Route)
	for _, a := range t.Attempts {
		m.Attempts = append(m.Attempts, &adminv1.RequestAttempt{
			Upstream: a.Upstream, Protocol: a.Protocol, Model: a.Model,
			Begin: some(a.Begin), Connected: some(a.Connected), Headers: some(a.Headers), FirstEvent: some(a.FirstEvent), Released: some(a.Released), End: some(a.End),
			Calls: a.Calls, HttpStatus: int32(a.Status), Kind: a.Kind, Reason: a.Reason,
		})
	}
	return m
}

// span is a stage; nil for one that was not reached.
func span(s ledger.Stage) (begin, end *durationpb.Duration) {
	if s.End == 0 {
		return nil, nil
	}
	return durationpb.New(s.Begin), durationpb.New(s.End)
}

// some is a duration; nil for 0.
func some(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}
