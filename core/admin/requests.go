package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// ReasonRequestNotFound is an id that no request of the ledger has.
const ReasonRequestNotFound = "REQUEST_NOT_FOUND"

// maxNeighbours bounds the neighbours of a request, maxFilter a text of a filter in bytes.
const (
	maxNeighbours = 100
	maxFilter     = 1024
)

// Prices finds the price that a cost was reckoned by.
type Prices interface {
	ByID(id string) (price.Price, bool)
}

// ListRequests lists requests. A page ends with the position of its last one, or with where it
// stopped to read.
func (s *Service) ListRequests(ctx context.Context, req *adminv1.ListRequestsRequest) (*adminv1.ListRequestsResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(req.GetFilter())
	if err != nil {
		return nil, err
	}
	var after *ledger.Position
	if token := req.GetPageToken(); token != "" {
		if after, err = position(token); err != nil {
			return nil, err
		}
	}
	page, err := s.config.Requests.Search(ctx, filter, after, size)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	resp := &adminv1.ListRequestsResponse{Requests: logged(page.Entries)}
	if resp.KeyNames, err = s.names(ctx, keysOf(resp.Requests...)); err != nil {
		return nil, err
	}
	if page.Next != nil {
		resp.NextPageToken = fmt.Sprintf("%d.%d.%d", page.Next.Start, page.Next.Process, page.Next.Number)
		resp.ReadUntil = timestamppb.New(time.UnixMicro(page.Next.Start))
	}
	return resp, nil
}

// position reads a page token.
func position(token string) (*ledger.Position, error) {
	var p ledger.Position
	fields := strings.Split(token, ".")
	into := []*int64{&p.Start, &p.Process, &p.Number}
	if len(fields) != len(into) {
		return nil, badToken()
	}
	for i, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != field {
			return nil, badToken()
		}
		*into[i] = n
	}
	return &p, nil
}

// outcomes are the contract's outcomes.
var outcomes = map[adminv1.Outcome]ledger.Outcome{
	adminv1.Outcome_OUTCOME_OPEN:        ledger.Open,
	adminv1.Outcome_OUTCOME_OK:          ledger.OK,
	adminv1.Outcome_OUTCOME_FAILED:      ledger.Failed,
	adminv1.Outcome_OUTCOME_CANCELLED:   ledger.Cancelled,
	adminv1.Outcome_OUTCOME_INTERRUPTED: ledger.Interrupted,
}

// outcomeOf is the other way.
func outcomeOf(o ledger.Outcome) adminv1.Outcome {
	for contract, is := range outcomes {
		if is == o {
			return contract
		}
	}
	return adminv1.Outcome_OUTCOME_UNSPECIFIED
}

// filterOf reads a filter.
func filterOf(f *adminv1.RequestFilter) (ledger.Filter, error) {
	filter := ledger.Filter{
		Protocol: f.GetProtocol(), UpstreamProtocol: f.GetUpstreamProtocol(), Model: f.GetModel(), Served: f.GetServedModel(),
		KeyID: f.GetKeyId(), Owner: f.GetOwner(), Route: f.GetRoute(), Upstream: f.GetUpstream(), RequestID: f.GetRequestId(), TraceID: f.GetTraceId(),
		Kind: f.GetKind(), Reason: f.GetReason(), Lost: f.GetLost(), Retried: f.GetRetried(), WithoutKind: f.GetWithoutKind(),
	}
	for _, bound := range []struct {
		name string
		from *timestamppb.Timestamp
		to   *time.Time
	}{{"filter.since", f.GetSince(), &filter.Since}, {"filter.until", f.GetUntil(), &filter.Until}} {
		if bound.from == nil {
			continue
		}
		if err := bound.from.CheckValid(); err != nil {
			return filter, fault.Invalid(bound.name, "%s: expected a time from year 1 to 9999", bound.name)
		}
		*bound.to = bound.from.AsTime()
	}
	if filter.WithoutKind && filter.Kind != "" {
		return filter, fault.Invalid("filter.without_kind", "filter.without_kind: no request has the kind %s and none; leave out one of them", strconv.Quote(f.GetKind()))
	}
	seen := map[adminv1.Outcome]bool{}
	for i, o := range f.GetOutcomes() {
		at := fmt.Sprintf("filter.outcomes[%d]", i)
		is, ok := outcomes[o]
		switch {
		case !ok:
			return filter, fault.Invalid(at, "%s: unknown outcome %d", at, o)
		case seen[o]:
			return filter, fault.Invalid(at, "%s: the same value is given twice", at)
		}
		seen[o] = true
		filter.Outcomes = append(filter.Outcomes, is)
	}
	for _, text := range []struct{ name, is string }{
		{"protocol", filter.Protocol}, {"upstream_protocol", filter.UpstreamProtocol}, {"model", filter.Model}, {"served_model", filter.Served},
		{"key_id", filter.KeyID}, {"owner", filter.Owner}, {"route", filter.Route}, {"upstream", filter.Upstream},
		{"request_id", filter.RequestID}, {"trace_id", filter.TraceID}, {"kind", filter.Kind}, {"reason", filter.Reason},
	} {
		if len(text.is) > maxFilter {
			return filter, fault.Invalid("filter."+text.name, "filter.%s: expected at most %d bytes, got %d", text.name, maxFilter, len(text.is))
		}
	}
	return filter, nil
}

// GetRequest returns one request.
func (s *Service) GetRequest(ctx context.Context, req *adminv1.GetRequestRequest) (*adminv1.GetRequestResponse, error) {
	process, number, err := located(req.GetId())
	if err != nil {
		return nil, err
	}
	found, err := s.config.Requests.Find(ctx, process, number)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	if found == nil {
		f := fault.New(fault.NotFound, ReasonRequestNotFound, "no request of the ledger has that id")
		f.Param = "id"
		return nil, f
	}
	resp := &adminv1.GetRequestResponse{Request: loggedRequest(*found)}
	if t, ok := ledger.ParseTimeline(found.Entry); ok {
		resp.Timeline = timeline(t)
	}
	if s.config.Prices != nil && found.Price != "" {
		if p, ok := s.config.Prices.ByID(found.Price); ok {
			resp.Price = &adminv1.RequestPrice{Id: p.ID, NanoDollars: p.ByName(found.Usage.Input)}
		}
	}
	neighbours, err := s.config.Requests.Neighbours(ctx, found.TraceID, found.Start, maxNeighbours+1)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	for _, n := range neighbours {
		if (n.Process != process || n.Number != number) && len(resp.Neighbours) < maxNeighbours {
			resp.Neighbours = append(resp.Neighbours, loggedRequest(n))
		}
	}
	if resp.KeyNames, err = s.names(ctx, append(keysOf(resp.Neighbours...), resp.Request.GetKeyId())); err != nil {
		return nil, err
	}
	if s.config.Captures != nil {
		if resp.Captured, err = s.config.Captures.Has(ctx, process, number); err != nil {
			return nil, unavailable(ctx, err)
		}
	}
	return resp, nil
}

// located reads the id of a LoggedRequest.
func located(id string) (process, number int64, err error) {
	first, second, _ := strings.Cut(id, "-")
	process, err = strconv.ParseInt(first, 10, 64)
	number, err2 := strconv.ParseInt(second, 10, 64)
	if err != nil || err2 != nil || idOf(process, number) != id {
		return 0, 0, fault.Invalid("id", "id: expected that of a LoggedRequest, such as 12-3456")
	}
	return process, number, nil
}

func idOf(process, number int64) string {
	return strconv.FormatInt(process, 10) + "-" + strconv.FormatInt(number, 10)
}
