package admin

import (
	"context"
	"time"

	"github.com/genway/genway/codec/fault"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
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
		of[c.Upstream] = append(of[c.Upstream], &adminv1.FailureCount{Kind: c.Kind, Requests: c.Requests})
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
