package console_test

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/admin"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// scripted is the Admin service with requests and a topology that a test makes up, all of whose texts
// are text.
type scripted struct {
	*admin.Service

	text string
	// asked is the last search.
	asked *adminv1.ListRequestsRequest
	// tail sends what it is given to each watcher.
	tail chan *adminv1.WatchRequestsResponse
	// left is closed when somebody stops watching, if set.
	left chan struct{}
	// typed is the last configuration that was checked or written.
	typed string
	// usage makes reports, if set.
	usage func(*adminv1.GetUsageRequest) []*adminv1.UsageRow
	// usageErr refuses reports, if set.
	usageErr func(*adminv1.GetUsageRequest) error
	// members are the configuration's, after one text.
	members []*adminv1.ConfigurationMember
	// yaml is the file, if set, which fixed cannot be written.
	yaml  string
	fixed bool
	// total is the total of each.
	total *adminv1.UsageRow
	// captured are the bodies of request 1-2, which is of that protocol and method; deleted is what was
	// asked to be deleted.
	captured []*adminv1.CapturedBody
	protocol genwayv1.Protocol
	method   string
	deleted  *adminv1.DeleteCapturesRequest
	// explain answers Explain, if set.
	explain func(*adminv1.ExplainRequest) (*adminv1.ExplainResponse, error)
	// tried is the last request to try an upstream, which refusal refuses, if set.
	tried   *adminv1.TryUpstreamRequest
	refusal error
	// nodes are listed in place of those that have text, if set.
	nodes []*adminv1.Node
	// name is the key's, if it has one, and old leaves out what older versions did not record.
	name string
	old  bool
}

// names are the keys': what is asked for without a name of its own is named as all texts are.
func (s *scripted) names() map[string]string {
	return map[string]string{s.text: cmp.Or(s.name, s.text)}
}

// named is the protocol with that name; nil for none.
func named(name string) *genwayv1.Protocol {
	if p, ok := genwayv1.Protocol_value["PROTOCOL_"+strings.ToUpper(name)]; ok || name == "grpc" {
		return genwayv1.Protocol(p).Enum()
	}
	return nil
}

func (s *scripted) request() *adminv1.LoggedRequest {
	return &adminv1.LoggedRequest{
		Id: "1-2", RequestId: s.text, KeyId: s.text, Owner: s.text, Protocol: named(s.text), Method: s.text, Model: s.text, StartTime: timestamppb.New(time.Unix(1e9, 0)),
		Outcome: adminv1.Outcome_OUTCOME_FAILED, Kind: genwayv1.ErrorKind_ERROR_KIND_RATE_LIMITED, Reason: s.text, Route: s.text, Upstream: s.text, UpstreamProtocol: genwayv1.Protocol_PROTOCOL_RESPONSES.Enum(), Attempts: 2, ServedModel: s.text + "3",
		Usage: &adminv1.RequestUsage{InputTokens: 1234567, Source: s.text}, CostNanoDollars: 5_000_000, Price: s.text, Duration: durationpb.New(time.Second), Losses: []string{s.text}, TraceId: s.text,
	}
}

func (s *scripted) ListRequests(_ context.Context, req *adminv1.ListRequestsRequest) (*adminv1.ListRequestsResponse, error) {
	s.asked = req
	return &adminv1.ListRequestsResponse{Requests: []*adminv1.LoggedRequest{s.request()}, NextPageToken: "next&=" + s.text, ReadUntil: timestamppb.New(time.Unix(1e9, 0)), KeyNames: s.names()}, nil
}

func (s *scripted) ListRefusedRequests(context.Context, *adminv1.ListRefusedRequestsRequest) (*adminv1.ListRefusedRequestsResponse, error) {
	return &adminv1.ListRefusedRequestsResponse{KeyNames: s.names(), Omitted: 12345, StartTime: timestamppb.New(time.Unix(1e9, 0)), Requests: []*adminv1.RefusedRequest{
		{RequestId: s.text, StartTime: timestamppb.New(time.Unix(1e9, 0)), KeyId: s.text, Owner: s.text, Protocol: named(s.text), Model: s.text, Kind: genwayv1.ErrorKind_ERROR_KIND_RATE_LIMITED, Reason: s.text, Message: s.text, Quota: &genwayv1.Quota{Scope: s.text, Unit: s.text, Limit: 5}},
		{Kind: genwayv1.ErrorKind_ERROR_KIND_QUOTA_EXHAUSTED, Quota: &genwayv1.Quota{Scope: "owner", Limit: 2e9, Period: "day"}}, {Kind: genwayv1.ErrorKind_ERROR_KIND_UNAUTHENTICATED},
	}}, nil
}

func (s *scripted) GetRequest(_ context.Context, req *adminv1.GetRequestRequest) (*adminv1.GetRequestResponse, error) {
	if req.GetId() != "1-2" {
		return nil, fault.New(fault.NotFound, "REQUEST_NOT_FOUND", "there is no request %s", s.text)
	}
	at := func(ms int) *durationpb.Duration { return durationpb.New(time.Duration(ms) * time.Millisecond) }
	r := s.request()
	if s.protocol != genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		r.Protocol, r.Method, r.Outcome = &s.protocol, s.method, adminv1.Outcome_OUTCOME_OK
	}
	resp := &adminv1.GetRequestResponse{
		KeyNames: s.names(), Captured: s.captured != nil, Request: r, Neighbours: []*adminv1.LoggedRequest{s.request()},
		Timeline: &adminv1.RequestTimeline{Admitted: at(1), Settled: at(90), Attempts: []*adminv1.RequestAttempt{
			{Upstream: s.text, Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES.Enum(), Model: s.text, Begin: at(2), Connected: at(5), Headers: at(20), End: at(21), Calls: 2, HttpStatus: 503, Kind: genwayv1.ErrorKind_ERROR_KIND_UNAVAILABLE, Reason: s.text, Message: s.text},
			{Upstream: s.text, Begin: at(22), FirstEvent: at(40), Released: at(41), End: at(80), Calls: 1, HttpStatus: 200},
		}},
		Price: &adminv1.RequestPrice{Id: s.text, NanoDollars: map[string]int64{s.text: 7}},
	}
	if !s.old {
		micros := func(n int) *durationpb.Duration { return durationpb.New(time.Duration(n) * time.Microsecond) }
		line := resp.Timeline
		line.LimitsBegin, line.LimitsEnd, line.RouteBegin, line.RouteEnd = micros(200), micros(700), micros(1100), micros(1105)
	}
	return resp, nil
}

func (s *scripted) GetCapture(_ context.Context, req *adminv1.GetCaptureRequest) (*adminv1.GetCaptureResponse, error) {
	if s.captured == nil || req.GetId() != "1-2" {
		return nil, fault.New(fault.NotFound, admin.ReasonNoCapture, "no bodies of that request were captured")
	}
	return &adminv1.GetCaptureResponse{Bodies: s.captured, KeyId: s.text, SealedBy: s.text, ExpireTime: timestamppb.New(time.Unix(1e9, 0))}, nil
}

func (s *scripted) DeleteCaptures(_ context.Context, req *adminv1.DeleteCapturesRequest) (*adminv1.DeleteCapturesResponse, error) {
	s.deleted = req
	return &adminv1.DeleteCapturesResponse{Deleted: 1}, nil
}

func (s *scripted) ListCaptureRules(ctx context.Context, req *adminv1.ListCaptureRulesRequest) (*adminv1.ListCaptureRulesResponse, error) {
	resp, err := s.Service.ListCaptureRules(ctx, req)
	if s.text != "" {
		rule := &adminv1.CaptureRule{Redact: []string{s.text}, Until: timestamppb.Now()}
		resp.Rules = append(resp.Rules, &adminv1.RunningCapture{KeyId: s.text, KeyName: s.text, Rule: rule}, &adminv1.RunningCapture{Route: s.text, Protocols: []genwayv1.Protocol{genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_UNSPECIFIED}, Rule: rule})
	}
	return resp, err
}

func (s *scripted) WatchRequests(_ *adminv1.WatchRequestsRequest, stream grpc.ServerStreamingServer[adminv1.WatchRequestsResponse]) error {
	if s.left != nil {
		defer close(s.left)
	}
	for {
		select {
		case resp := <-s.tail:
			if err := stream.Send(resp); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (s *scripted) ListUpstreams(context.Context, *adminv1.ListUpstreamsRequest) (*adminv1.ListUpstreamsResponse, error) {
	return &adminv1.ListUpstreamsResponse{Upstreams: []*adminv1.Upstream{{Name: s.text, Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Address: s.text, Breaker: adminv1.Breaker_BREAKER_HALF_OPEN, FailingChecks: true, InFlight: 3, Most: 10, Routes: []string{s.text}, Failures: []*adminv1.FailureCount{{Kind: genwayv1.ErrorKind_ERROR_KIND_RATE_LIMITED, Requests: 6}, {Kind: genwayv1.ErrorKind_ERROR_KIND_TIMEOUT, Requests: 1}, {Requests: 1}, {Kind: genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, Requests: 9}}}, {Name: "sandbox", Healthy: true}}}, nil
}

func (s *scripted) TryUpstream(_ context.Context, req *adminv1.TryUpstreamRequest) (*adminv1.TryUpstreamResponse, error) {
	s.tried = req
	if s.refusal != nil {
		return nil, s.refusal
	}
	return &adminv1.TryUpstreamResponse{RequestId: s.text, Text: s.text, ServedModel: s.text, HttpStatus: 429, Duration: durationpb.New(time.Second), Headers: durationpb.New(time.Millisecond), CostNanoDollars: 5,
		Failure: &adminv1.TryFailure{Kind: genwayv1.ErrorKind_ERROR_KIND_RATE_LIMITED, Reason: s.text, Message: s.text, NativeType: s.text, NativeCode: s.text, NativeBody: []byte(s.text)}}, nil
}

func (s *scripted) ListRoutes(context.Context, *adminv1.ListRoutesRequest) (*adminv1.ListRoutesResponse, error) {
	target := []*adminv1.RouteTarget{{Upstream: s.text, Model: s.text, Weight: 3, Overrides: s.text, On: []string{s.text}}}
	return &adminv1.ListRoutesResponse{Routes: []*adminv1.Route{{Model: s.text, Protocols: []genwayv1.Protocol{genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_UNSPECIFIED}, Strategy: s.text, Sticky: true, Strict: true, Deadline: durationpb.New(time.Minute), Targets: target, Fallback: target}}}, nil
}

func (s *scripted) GetConfiguration(context.Context, *adminv1.GetConfigurationRequest) (*adminv1.GetConfigurationResponse, error) {
	if s.yaml != "" {
		return &adminv1.GetConfigurationResponse{Source: "f", Yaml: s.yaml, FileHash: "hash", Writable: !s.fixed}, nil
	}
	return &adminv1.GetConfigurationResponse{Source: s.text, Hash: s.text, Yaml: "a: 1\n" + s.text + "\n", Problem: s.text, RunningYaml: "a: 0\n" + s.text + "\n", FileHash: "hash", Writable: true, Members: append([]*adminv1.ConfigurationMember{{Name: s.text, Value: s.text, Variables: []string{s.text}, OverriddenBy: s.text, Line: 3, Source: adminv1.ConfigurationSource_CONFIGURATION_SOURCE_FILE}}, s.members...)}, nil
}

func (s *scripted) ListNodes(context.Context, *adminv1.ListNodesRequest) (*adminv1.ListNodesResponse, error) {
	if s.nodes != nil {
		return &adminv1.ListNodesResponse{Nodes: s.nodes}, nil
	}
	return &adminv1.ListNodesResponse{Nodes: []*adminv1.Node{{Process: 1, Host: s.text, Version: s.text, Address: s.text, StartTime: timestamppb.Now(), SeenTime: timestamppb.Now(), ConfigurationHash: s.text, Degraded: []string{s.text}}, {Process: 2, Version: "v2", SeenTime: timestamppb.Now()}}}, nil
}

func (s *scripted) GetLimits(context.Context, *adminv1.GetLimitsRequest) (*adminv1.GetLimitsResponse, error) {
	used := int64(9)
	return &adminv1.GetLimitsResponse{Gauges: []*adminv1.LimitGauge{
		{Scope: s.text, Limit: s.text, Most: 10, Used: &used}, {Scope: "key", Limit: "budget", Period: adminv1.Period_PERIOD_DAY, Most: 2e9, Used: new(int64(1e9)), ResetTime: timestamppb.Now(), SpentTime: timestamppb.Now()}, {Scope: "owner", Limit: "concurrent", Most: 3},
	}}, nil
}

func (s *scripted) GetStatus(ctx context.Context, req *adminv1.GetStatusRequest) (*adminv1.GetStatusResponse, error) {
	if s.text == "" {
		return s.Service.GetStatus(ctx, req)
	}
	budget := func(used int64) *adminv1.LimitGauge {
		return &adminv1.LimitGauge{Scope: "key", Limit: "budget", Period: adminv1.Period_PERIOD_DAY, Most: 1e9, Used: &used, ResetTime: timestamppb.Now()}
	}
	owners := budget(5e8)
	owners.Scope, owners.SpentTime = "owner", timestamppb.Now()
	return &adminv1.GetStatusResponse{
		Upstreams: []*adminv1.Upstream{{Name: s.text}, {Name: "good", Healthy: true}, {Name: s.text, FailingChecks: true}}, ConfigurationProblem: s.text,
		Nodes:   []*adminv1.Node{{Process: 1, Host: s.text, Version: s.text, SeenTime: timestamppb.Now(), Degraded: []string{s.text}}, {Process: 2, Version: "v2", SeenTime: timestamppb.Now()}},
		Budgets: []*adminv1.BudgetUse{{KeyId: "key_1", KeyName: s.text, Owner: s.text, Gauge: budget(95e7)}, {KeyId: "key_2", Gauge: budget(6e8)}, {Owner: s.text, Gauge: owners}}, BudgetCount: 6,
	}, nil
}

func (s *scripted) GetUsage(ctx context.Context, req *adminv1.GetUsageRequest) (*adminv1.GetUsageResponse, error) {
	if s.usageErr != nil {
		if err := s.usageErr(req); err != nil {
			return nil, err
		}
	}
	if s.usage != nil {
		return &adminv1.GetUsageResponse{Rows: s.usage(req), Total: s.total, KeyNames: s.names()}, nil
	}
	return s.Service.GetUsage(ctx, req)
}

func (s *scripted) Explain(_ context.Context, req *adminv1.ExplainRequest) (*adminv1.ExplainResponse, error) {
	if s.explain != nil {
		return s.explain(req)
	}
	members := []*adminv1.ExplainedMember{{Fate: adminv1.Fate_FATE_LOST, Path: s.text, Arrives: []string{s.text}, ValueJson: s.text, ArrivedJson: s.text, Rule: s.text, Reason: s.text}}
	refusal := &adminv1.ExplainedRefusal{Kind: genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, Reason: s.text, Member: s.text, Message: s.text}
	return &adminv1.ExplainResponse{Route: s.text, Upstream: s.text, UpstreamProtocol: genwayv1.Protocol_PROTOCOL_MESSAGES, UpstreamModel: s.text, MessageJson: s.text, UpstreamBody: []byte(s.text), Members: members, Truncated: true, Refusal: refusal,
		Answer: &adminv1.ExplainedAnswer{MessageJson: s.text, CallerBody: []byte(s.text), Members: members, Refusal: refusal}}, nil
}

// scriptedPages are the pages of what scripted answers.
var scriptedPages = []string{"/overview", "/requests", "/requests/1-2", "/requests/refused", "/requests/9-9", "/xray", "/playground", "/playground?protocol=grpc&example=tools", "/upstreams", "/upstreams?model=m", "/upstreams/try?upstream=sandbox", "/configuration", "/captures", "/nodes"}

// Case X61: what models, upstreams, callers and files say is text on every page that shows it.
func TestInjectionsOfOthers(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	for _, text := range injections {
		f.scripted.text = text
		for _, path := range scriptedPages {
			got := f.get(t, session, path)
			if got.code != http.StatusOK && path != "/requests/9-9" {
				t.Errorf("%s: %d", path, got.code)
			}
			for _, wrong := range active(got.body) {
				t.Errorf("%s has %s", path, wrong)
			}
		}
		for _, name := range []string{"protocol", "example", "model"} {
			if wrong := active(f.get(t, session, "/playground?"+url.Values{name: {text}}.Encode()).body); len(wrong) > 0 {
				t.Errorf("the playground by %s %q has %v", name, text, wrong)
			}
		}
		got := f.post(t, session, "/xray", url.Values{"body": {text}, "model": {text}, "upstream": {text}, "answer": {text}, "protocol": {text}})
		for _, wrong := range active(got.body) {
			t.Errorf("the X-ray has %s", wrong)
		}
		for _, wrong := range active(f.post(t, session, "/upstreams/try", url.Values{"upstream": {text}, "model": {text}}).body) {
			t.Errorf("what an upstream answered when it was tried has %s", wrong)
		}
		if csv := f.get(t, session, "/requests.csv").body; !strings.HasPrefix(csv, "id,Time,") {
			t.Errorf("%s", csv)
		}
	}
	f.scripted.text = "=cmd|'/c calc'!A0"
	if csv := f.get(t, session, "/requests.csv").body; strings.Contains(csv, ",=cmd") || !strings.Contains(csv, ",'=cmd") {
		t.Errorf("a formula in the CSV: %s", csv)
	}
	f.scripted.text = "who=ada"
	if file := f.get(t, session, "/requests/1-2/file").body; strings.Contains(file, `"owner":"who`) || !strings.Contains(file, "REDACTED") {
		t.Errorf("the file for a report: %s", file)
	}
}

// The page of nodes is linked, and says where those that are alive differ: not from one that has ended.
func TestNodes(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	ended := &adminv1.Node{Process: 1, Version: "v1", ConfigurationHash: "old", SeenTime: timestamppb.New(time.Now().Add(-time.Minute))}
	node := func(number int64, version, hash string) *adminv1.Node {
		return &adminv1.Node{Process: number, Host: "host-" + version, Version: version, ConfigurationHash: hash, SeenTime: timestamppb.New(time.Now().Add(time.Minute))}
	}
	for name, c := range map[string]struct {
		nodes  []*adminv1.Node
		differ bool
	}{
		"none":                  {[]*adminv1.Node{}, false},
		"one that has ended":    {[]*adminv1.Node{ended, node(2, "v2", "new")}, false},
		"one that says nothing": {[]*adminv1.Node{node(2, "", ""), node(3, "v2", "new")}, false},
		"two versions":          {[]*adminv1.Node{node(2, "v2", "new"), node(3, "v3", "new")}, true},
		"two configurations":    {[]*adminv1.Node{ended, node(2, "v2", "new"), node(3, "v2", "newer")}, true},
	} {
		f.scripted.nodes = c.nodes
		page := f.get(t, session, "/nodes").body
		if strings.Contains(page, "Nodes differ") != c.differ || !strings.Contains(page, `href="/nodes"`) || strings.Contains(page, "No nodes") != (len(c.nodes) == 0) {
			t.Errorf("%s: %s", name, page)
		}
	}
}

// A search is in the URL, and every link of the page keeps it.
func TestSearch(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	f.scripted.text = "x"
	page := f.get(t, session, "/requests?model=m%26&outcome=failed&outcome=cancelled&outcome=nothing&lost=1&period=24h&unknown=1&after=token")
	asked := f.scripted.asked
	if w := asked.GetFilter(); w.GetModel() != "m&" || len(w.GetOutcomes()) != 2 || !w.GetLost() || w.GetRetried() || asked.GetPageToken() != "token" || time.Since(w.GetSince().AsTime()).Round(time.Hour) != 24*time.Hour {
		t.Errorf("asked for %v", asked)
	}
	for _, link := range []string{
		`/requests?after=next%26%3Dx&amp;lost=1&amp;model=m%26&amp;outcome=failed&amp;outcome=cancelled&amp;period=24h`,
		`/requests.csv?after=token&amp;lost=1&amp;model=m%26&amp;outcome=failed&amp;outcome=cancelled&amp;period=24h`,
	} {
		if !strings.Contains(page.body, link) {
			t.Errorf("there is no link %s in %s", link, page.body)
		}
	}
	if page := f.get(t, session, "/requests?without_kind=1&outcome=failed"); !f.scripted.asked.GetFilter().GetWithoutKind() || !strings.Contains(page.body, `name="without_kind" value="1" checked`) || !strings.Contains(page.body, `/requests.csv?outcome=failed&amp;without_kind=1`) {
		t.Errorf("a search for requests without a kind asks for %v: %s", f.scripted.asked, page.body)
	}
	f.get(t, session, "/requests.csv")
	if f.scripted.asked.GetPageSize() != 1000 {
		t.Errorf("the CSV has %d rows", f.scripted.asked.GetPageSize())
	}
	f.get(t, session, "/requests?period=1000000h&outcome=%00&after=%00")
	if w := f.scripted.asked.GetFilter(); w.GetSince() != nil || len(w.GetOutcomes()) != 0 {
		t.Errorf("noise asks for %v", w)
	}
}

// pipe is a browser that reads a stream.
type pipe struct {
	*httptest.ResponseRecorder

	wrote chan string
}

func (p *pipe) Write(b []byte) (int, error) {
	p.wrote <- string(b)
	return len(b), nil
}

// A live page gets requests as they end, with what was dropped, until it leaves; no goroutine is left behind.
func TestLive(t *testing.T) {
	f := openScripted(t)
	f.scripted.text = "<b>"
	r := request(t, f.signIn(t, f.root), http.MethodGet, "/requests/live?model=m", nil)
	ctx, leave := context.WithCancel(r.Context())
	to := &pipe{httptest.NewRecorder(), make(chan string)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.ServeHTTP(to, r.WithContext(ctx))
	}()
	if first := <-to.wrote; first != ": live\n\n" {
		t.Errorf("%q", first)
	}
	f.scripted.tail <- &adminv1.WatchRequestsResponse{Requests: []*adminv1.LoggedRequest{f.scripted.request()}, Dropped: 7}
	if event := <-to.wrote; !strings.HasPrefix(event, `data: {"rows":[{"id":"1-2","outcome":"failed","cells":["2001-09-09 01:46:40.000","failed: rate_limited"," → responses","\u003cb\u003e → \u003cb\u003e3"`) || !strings.HasSuffix(event, "\"dropped\":7}\n\n") || strings.Count(event, "\n") != 2 {
		t.Errorf("%q", event)
	}
	leave()
	<-done
	if got := f.get(t, "", "/requests/live"); got.code != http.StatusSeeOther {
		t.Errorf("without a session: %d", got.code)
	}
}

// stuck is a browser that reads the first event and nothing more: a write fails once its deadline is over.
type stuck struct {
	*httptest.ResponseRecorder

	within   time.Duration // the last deadline, from when it was set
	accepted chan struct{}
	writes   int
}

func (s *stuck) SetWriteDeadline(at time.Time) error {
	s.within = time.Until(at)
	return nil
}

func (s *stuck) Write(b []byte) (int, error) {
	if s.writes++; s.writes == 1 {
		close(s.accepted)
		return len(b), nil
	}
	return 0, os.ErrDeadlineExceeded
}

// A browser that does not read is left after ten seconds, and what it watches ends.
func TestStuckBrowser(t *testing.T) {
	f := openScripted(t)
	f.scripted.left = make(chan struct{})
	r := request(t, f.signIn(t, f.root), http.MethodGet, "/requests/live", nil)
	to := &stuck{ResponseRecorder: httptest.NewRecorder(), accepted: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.ServeHTTP(to, r)
	}()
	<-to.accepted
	f.scripted.tail <- &adminv1.WatchRequestsResponse{Requests: []*adminv1.LoggedRequest{f.scripted.request()}}
	<-done
	<-f.scripted.left
	if to.writes != 2 || to.within <= 0 || to.within > 10*time.Second {
		t.Errorf("%d writes, the last within %s", to.writes, to.within)
	}
}

func (s *scripted) CheckConfiguration(_ context.Context, req *adminv1.CheckConfigurationRequest) (*adminv1.CheckConfigurationResponse, error) {
	s.typed = req.GetYaml()
	return &adminv1.CheckConfigurationResponse{Mistakes: []*adminv1.ConfigurationMistake{{Line: 2, Column: 3, Message: s.text}, {Message: s.text}}, Warnings: []string{s.text}, Yaml: "a: 2\n" + s.text + "\n"}, nil
}

func (s *scripted) ReloadConfiguration(context.Context, *adminv1.ReloadConfigurationRequest) (*adminv1.ReloadConfigurationResponse, error) {
	return &adminv1.ReloadConfigurationResponse{Hash: s.text}, nil
}

func (s *scripted) WriteConfiguration(_ context.Context, req *adminv1.WriteConfigurationRequest) (*adminv1.WriteConfigurationResponse, error) {
	if s.typed = req.GetYaml(); req.GetFileHash() != "hash" {
		return nil, fault.Invalid("yaml", "line 3: %s", s.text)
	}
	return &adminv1.WriteConfigurationResponse{Hash: s.text}, nil
}
