package admin

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Explain says what a translation does to a body.
func (s *Service) Explain(ctx context.Context, req *adminv1.ExplainRequest) (*adminv1.ExplainResponse, error) {
	if s.config.Explainer == nil {
		return s.UnimplementedAdminServer.Explain(ctx, req)
	}
	return s.config.Explainer.Explain(ctx, req)
}

// ListUpstreams lists the upstreams.
func (s *Service) ListUpstreams(ctx context.Context, req *adminv1.ListUpstreamsRequest) (*adminv1.ListUpstreamsResponse, error) {
	if s.config.Topology == nil {
		return s.UnimplementedAdminServer.ListUpstreams(ctx, req)
	}
	resp := &adminv1.ListUpstreamsResponse{Upstreams: s.config.Topology.Upstreams()}
	if req.GetFailuresSince() == nil {
		if req.GetFailuresUntil() != nil {
			return nil, fault.Invalid("failures_until", "failures_until: it needs failures_since as well")
		}
		return resp, nil
	}
	return resp, s.addFailures(ctx, req, resp)
}

// addFailures counts the failures of each upstream.
func (s *Service) addFailures(ctx context.Context, req *adminv1.ListUpstreamsRequest, resp *adminv1.ListUpstreamsResponse) error {
	var since, until time.Time
	for _, bound := range []struct {
		name string
		from *timestamppb.Timestamp
		to   *time.Time
	}{{"failures_since", req.GetFailuresSince(), &since}, {"failures_until", req.GetFailuresUntil(), &until}} {
		if bound.from == nil {
			continue
		}
		if err := bound.from.CheckValid(); err != nil {
			return fault.Invalid(bound.name, "%s: expected a time from year 1 to 9999", bound.name)
		}
		*bound.to = bound.from.AsTime()
	}
	failures, err := s.config.Requests.Failures(ctx, since, until)
	if err != nil {
		return unavailable(ctx, err)
	}
	if !failures.From.IsZero() {
		resp.FailuresFrom = timestamppb.New(failures.From)
	}
	of := map[string][]*adminv1.FailureCount{}
	for _, c := range failures.Counts {
		of[c.Upstream] = append(of[c.Upstream], &adminv1.FailureCount{Kind: kindOf(c.Kind), Requests: c.Requests})
	}
	for _, u := range resp.GetUpstreams() {
		u.Failures = of[u.GetName()]
	}
	return nil
}

// ListRoutes lists the routes.
func (s *Service) ListRoutes(ctx context.Context, req *adminv1.ListRoutesRequest) (*adminv1.ListRoutesResponse, error) {
	if s.config.Topology == nil {
		return s.UnimplementedAdminServer.ListRoutes(ctx, req)
	}
	return &adminv1.ListRoutesResponse{Routes: s.config.Topology.Routes()}, nil
}

// GetConfiguration returns the configuration in force.
func (s *Service) GetConfiguration(ctx context.Context, req *adminv1.GetConfigurationRequest) (*adminv1.GetConfigurationResponse, error) {
	if s.config.Topology == nil {
		return s.UnimplementedAdminServer.GetConfiguration(ctx, req)
	}
	return s.config.Topology.Configuration(), nil
}

// The reason of a trial that is refused, and the action of one in the audit.
const (
	ReasonTooManyTrials = "TOO_MANY_TRIALS"
	ActionTryUpstream   = "upstream.try"
)

// The bounds of trials: how often, how long one takes, how much it has answered, in tokens, and how much of
// that is given back, in bytes.
const (
	trialBurst  = 5
	trialEvery  = 2 * time.Second
	trialWithin = 30 * time.Second
	trialTokens = 16
	maxTried    = 4096
	maxModel    = 256
)

// Trier sends a request to one upstream, as the caller's own. A core.Service does. The record is not
// Admitted if the request was refused before the upstream was called. Its errors are *fault.Error values.
type Trier interface {
	TryText(ctx context.Context, upstream string, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, *call.Record, error)
	TryImage(ctx context.Context, upstream string, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, *call.Record, error)
}

// beginTrial counts a trial, or returns how long to wait for the next.
func (s *Service) beginTrial() (wait time.Duration) {
	now := s.config.Clock()
	trial := s.trials.ReserveN(now, 1)
	if wait = trial.DelayFrom(now); wait > 0 {
		trial.CancelAt(now)
	}
	return wait
}

// TryUpstream sends one small request to an upstream.
func (s *Service) TryUpstream(ctx context.Context, req *adminv1.TryUpstreamRequest) (*adminv1.TryUpstreamResponse, error) {
	if s.config.Trier == nil || s.config.Topology == nil || s.config.Recorder == nil {
		return s.UnimplementedAdminServer.TryUpstream(ctx, req)
	}
	if err := s.checkTrial(req); err != nil {
		return nil, err
	}
	if wait := s.beginTrial(); wait > 0 {
		f := fault.New(fault.RateLimited, ReasonTooManyTrials, "upstreams are tried too often; try again in %d seconds", (wait+time.Second-1)/time.Second)
		f.RetryAfter = wait
		return nil, f
	}
	detail, err := json.Marshal(map[string]any{"model": req.GetModel(), "image": req.GetImage()})
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, fault.ReasonPanic, "%s", fault.InternalMessage)
	}
	change := s.change(ctx, ActionTryUpstream, req.GetUpstream())
	change.Detail = string(detail)
	if err := s.config.Recorder.Record(ctx, change); err != nil {
		return nil, unavailable(ctx, err)
	}
	ctx, stop := context.WithTimeout(ctx, trialWithin)
	defer stop()
	began := time.Now()
	resp, record, err := s.try(ctx, req)
	if err != nil && !record.Admitted {
		return nil, err
	}
	tried(resp, record, err)
	resp.Duration = durationpb.New(time.Since(began))
	return resp, nil
}

// checkTrial refuses what cannot be tried.
func (s *Service) checkTrial(req *adminv1.TryUpstreamRequest) error {
	switch model := req.GetModel(); {
	case req.GetUpstream() == "":
		return fault.Missing("upstream")
	case strings.TrimSpace(model) == "":
		return fault.Missing("model")
	case len(model) > maxModel:
		return fault.Invalid("model", "model: expected at most %d bytes, got %d", maxModel, len(model))
	}
	if !slices.ContainsFunc(s.config.Topology.Upstreams(), func(u *adminv1.Upstream) bool { return u.GetName() == req.GetUpstream() }) {
		return fault.UpstreamNotFound()
	}
	return nil
}

// try sends the request, and returns what was answered.
func (s *Service) try(ctx context.Context, req *adminv1.TryUpstreamRequest) (*adminv1.TryUpstreamResponse, *call.Record, error) {
	resp := &adminv1.TryUpstreamResponse{}
	if req.GetImage() {
		image, record, err := s.config.Trier.TryImage(ctx, req.GetUpstream(), &genwayv1.GenerateImageRequest{Model: req.GetModel(), Prompt: "a dot"})
		resp.Images = int32(min(len(image.GetImages()), 1<<20))
		return resp, record, err
	}
	text, record, err := s.config.Trier.TryText(ctx, req.GetUpstream(), &genwayv1.GenerateTextRequest{
		Model: req.GetModel(), MaxOutputTokens: new(int64(trialTokens)),
		Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}}}},
	})
	var answered strings.Builder
	for _, candidate := range text.GetCandidates() {
		for _, part := range candidate.GetParts() {
			answered.WriteString(part.GetText().GetText())
		}
	}
	resp.Text = cut(answered.String())
	return resp, record, err
}

// cut returns the beginning of a text, whole characters of it.
func cut(text string) string {
	if len(text) <= maxTried {
		return text
	}
	return strings.ToValidUTF8(text[:maxTried], "")
}

// tried adds what the record and the error say.
func tried(to *adminv1.TryUpstreamResponse, record *call.Record, err error) {
	to.RequestId, to.ServedModel, to.CostNanoDollars = record.ID, cut(record.Model), record.Cost
	to.InputTokens, to.OutputTokens = record.Usage.GetInputTokens(), record.Usage.GetOutputTokens()
	if n := len(record.Attempts); n > 0 {
		a := &record.Attempts[n-1]
		to.HttpStatus = int32(a.Status)
		if !a.Connected.IsZero() {
			to.Connected = durationpb.New(a.Connected.Sub(record.Start))
		}
		if !a.Headers.IsZero() {
			to.Headers = durationpb.New(a.Headers.Sub(record.Start))
		}
	}
	if err == nil {
		return
	}
	f := fault.From(err)
	body := f.Wire.GetJson()
	to.Failure = &adminv1.TryFailure{
		Kind: f.Kind, Reason: f.Reason, Message: cut(f.Message), NativeType: cut(f.NativeType), NativeCode: cut(f.NativeCode), NativeBody: body[:min(len(body), maxTried)],
	}
}

// listedFor is how long a node that is silent is listed.
const listedFor = time.Hour

// ListNodes lists the cores of the store.
func (s *Service) ListNodes(ctx context.Context, _ *adminv1.ListNodesRequest) (*adminv1.ListNodesResponse, error) {
	processes, err := s.config.Usage.Processes(ctx, s.config.Clock().Add(-listedFor))
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	resp := &adminv1.ListNodesResponse{}
	for _, p := range processes {
		resp.Nodes = append(resp.Nodes, &adminv1.Node{
			Process: p.Number, Host: p.Host, Version: p.Version, Address: p.Address,
			StartTime: timestamppb.New(p.Start), SeenTime: timestamppb.New(p.Seen), ConfigurationHash: p.Configuration, Degraded: p.Degraded,
		})
	}
	return resp, nil
}
