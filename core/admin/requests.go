package admin

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
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

// protocolOf returns the protocol that the ledger calls by a name; nil for none that this version knows.
func protocolOf(name string) *genwayv1.Protocol {
	if name == protocol.Direct.Name {
		return protocol.Direct.ID.Enum()
	}
	if p := protocol.ByName(name); p != nil {
		return p.ID.Enum()
	}
	return nil
}

// kindOf returns the kind that the ledger calls by a name, as fault.Name does; unspecified for an empty one, and
// fault.Internal for one that this version does not know, as the contract says.
func kindOf(name string) fault.Kind {
	if kind, ok := genwayv1.ErrorKind_value["ERROR_KIND_"+strings.ToUpper(name)]; ok || name == "" {
		return fault.Kind(kind)
	}
	return fault.Internal
}

// filterOf reads a filter.
func filterOf(f *adminv1.RequestFilter) (ledger.Filter, error) {
	f = cmp.Or(f, &adminv1.RequestFilter{})
	filter := ledger.Filter{
		Model: f.GetModel(), Served: f.GetServedModel(),
		KeyID: f.GetKeyId(), Owner: f.GetOwner(), Route: f.GetRoute(), Upstream: f.GetUpstream(), RequestID: f.GetRequestId(), TraceID: f.GetTraceId(),
		Reason: f.GetReason(), Lost: f.GetLost(), Retried: f.GetRetried(), WithoutKind: f.GetWithoutKind(),
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
	for _, named := range []struct {
		name string
		from *genwayv1.Protocol
		to   *string
	}{{"filter.protocol", f.Protocol, &filter.Protocol}, {"filter.upstream_protocol", f.UpstreamProtocol, &filter.UpstreamProtocol}} {
		if named.from == nil {
			continue
		}
		if *named.to = protocol.Of(*named.from).Name; protocolOf(*named.to) == nil {
			return filter, fault.Invalid(named.name, "%s: expected one of genway.v1.Protocol, got %d", named.name, *named.from)
		}
	}
	if kind := f.GetKind(); kind != genwayv1.ErrorKind_ERROR_KIND_UNSPECIFIED {
		if filter.Kind = fault.Name(kind); kindOf(filter.Kind) != kind {
			return filter, fault.Invalid("filter.kind", "filter.kind: expected one of genway.v1.ErrorKind, got %d", kind)
		}
	}
	if filter.WithoutKind && filter.Kind != "" {
		return filter, fault.Invalid("filter.without_kind", "filter.without_kind: no request has the kind %s and none; leave out one of them", strconv.Quote(filter.Kind))
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

// ListRefusedRequests lists the sample of this process.
func (s *Service) ListRefusedRequests(ctx context.Context, req *adminv1.ListRefusedRequestsRequest) (*adminv1.ListRefusedRequestsResponse, error) {
	if s.config.Refused == nil {
		return s.UnimplementedAdminServer.ListRefusedRequests(ctx, req)
	}
	sample := s.config.Refused.Sample()
	resp := &adminv1.ListRefusedRequestsResponse{Omitted: sample.Omitted, StartTime: timestamppb.New(sample.Since)}
	var ids []string
	for i := range sample.Requests {
		r := &sample.Requests[i]
		resp.Requests = append(resp.Requests, &adminv1.RefusedRequest{
			RequestId: r.ID, StartTime: timestamppb.New(r.Start), KeyId: r.KeyID, Owner: r.Owner, Protocol: protocolOf(r.Protocol), Method: r.Method, Model: r.Model,
			Kind: kindOf(r.Kind), Reason: r.Reason, Message: r.Message, Quota: r.Quota,
		})
		ids = append(ids, r.KeyID)
	}
	var err error
	resp.KeyNames, err = s.names(ctx, ids)
	return resp, err
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
		Id: idOf(e.Process, e.Number), RequestId: e.ID, KeyId: e.KeyID, Owner: e.Owner, Protocol: protocolOf(e.Protocol), Method: e.Method,
		Model: e.Request.Model, StartTime: timestamppb.New(e.Start), Outcome: outcomeOf(e.Outcome), Kind: kindOf(e.Kind), Reason: e.Reason,
		Route: e.Route, Upstream: e.Upstream, UpstreamProtocol: protocolOf(e.UpstreamProtocol), Attempts: e.Attempts, ServedModel: e.Result.Model,
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
			Upstream: a.Upstream, Protocol: protocolOf(a.Protocol), Model: a.Model,
			Begin: some(a.Begin), Connected: some(a.Connected), Headers: some(a.Headers), FirstEvent: some(a.FirstEvent), Released: some(a.Released), End: some(a.End),
			Calls: a.Calls, HttpStatus: int32(a.Status), Kind: kindOf(a.Kind), Reason: a.Reason, Message: a.Message,
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

const (
	// tailEvery is how often the ledger is read while somebody watches.
	tailEvery = 500 * time.Millisecond
	// tailQueue is how many reads wait for a viewer that is slow.
	tailQueue = 8
	// tailMessage is how many requests are in one message.
	tailMessage = 500
)

// tail reads what ends on all cores, once for all viewers, and only while there is one.
type tail struct {
	requests ledger.Searcher
	names    func(ctx context.Context, ids []string) (map[string]string, error)

	mu      sync.Mutex
	viewers map[*viewer]struct{}
	stop    context.CancelFunc
	done    chan struct{}
}

// viewer is somebody who watches.
type viewer struct {
	queue chan seen
	// dropped counts what the queue had no room for since the last that it had room for. The
	// tail's mu guards it.
	dropped int64
}

// seen is what one read found.
type seen struct {
	entries  []ledger.Located
	messages []*adminv1.LoggedRequest // of entries; not to be changed
	names    map[string]string        // of their keys; not to be changed
	dropped  int64
	err      error
}

// join adds a viewer. The first has the ledger read.
func (t *tail) join() *viewer {
	v := &viewer{queue: make(chan seen, tailQueue)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.viewers) == 0 {
		t.viewers = map[*viewer]struct{}{}
		var ctx context.Context
		ctx, t.stop = context.WithCancel(context.Background())
		t.done = make(chan struct{})
		go t.run(ctx, t.done)
	}
	t.viewers[v] = struct{}{}
	return v
}

// leave takes a viewer off. With the last the reading ends.
func (t *tail) leave(v *viewer) {
	t.mu.Lock()
	delete(t.viewers, v)
	stop, done := t.stop, t.done
	last := len(t.viewers) == 0
	if last {
		stop()
	}
	t.mu.Unlock()
	if last {
		<-done
	}
}

// run reads until ctx ends.
func (t *tail) run(ctx context.Context, done chan struct{}) {
	defer close(done)
	ticker := time.NewTicker(tailEvery)
	defer ticker.Stop()
	var cursor ledger.Cursor
	named := namer{names: t.names}
	for {
		var s seen
		s.entries, s.dropped, s.err = t.requests.Tail(ctx, &cursor)
		if ctx.Err() != nil {
			return
		}
		s.messages = logged(s.entries)
		s.names = named.of(ctx, s.messages)
		t.send(done, s)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// send sends each viewer that has room what was read, and what it has missed.
func (t *tail) send(done chan struct{}, s seen) {
	nothing := len(s.entries) == 0 && s.dropped == 0 && s.err == nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done != done { // all viewers have left, and others have come
		return
	}
	for v := range t.viewers {
		if nothing && v.dropped == 0 {
			continue
		}
		one := s
		one.dropped += v.dropped
		select {
		case v.queue <- one:
			v.dropped = 0
		default:
			v.dropped += int64(len(s.entries)) + s.dropped
		}
	}
}

// WatchRequests returns requests as they end.
func (s *Service) WatchRequests(req *adminv1.WatchRequestsRequest, stream grpc.ServerStreamingServer[adminv1.WatchRequestsResponse]) error {
	ctx := stream.Context()
	for name, given := range map[string]bool{"filter.since": req.GetFilter().GetSince() != nil, "filter.until": req.GetFilter().GetUntil() != nil} {
		if given {
			return fault.Invalid(name, "%s: a stream has only the present; leave it out", name)
		}
	}
	filter, err := filterOf(req.GetFilter())
	if err != nil {
		return err
	}
	v := s.tail.join()
	defer s.tail.leave(v)
	if err := stream.SendHeader(nil); err != nil { // the caller knows that it watches
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return fault.Wrap(ctx.Err(), fault.Cancelled, "CANCELLED", "the call was cancelled")
		case read := <-v.queue:
			if read.err != nil {
				return unavailable(ctx, read.err)
			}
			resp := &adminv1.WatchRequestsResponse{Dropped: read.dropped, KeyNames: read.names}
			for i := range read.entries {
				if !filter.Means(read.entries[i].Entry) {
					continue
				}
				if resp.Requests = append(resp.Requests, read.messages[i]); len(resp.Requests) == tailMessage {
					if err := stream.Send(resp); err != nil {
						return err
					}
					resp = &adminv1.WatchRequestsResponse{KeyNames: read.names}
				}
			}
			if len(resp.Requests) > 0 || resp.Dropped > 0 {
				if err := stream.Send(resp); err != nil {
					return err
				}
			}
		}
	}
}
