package admin

import (
	"context"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
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
	return &adminv1.ListUpstreamsResponse{Upstreams: s.config.Topology.Upstreams()}, nil
}

// ListRoutes lists the routes.
func (s *Service) ListRoutes(ctx context.Context, req *adminv1.ListRoutesRequest) (*adminv1.ListRoutesResponse, error) {
	if s.config.Topology == nil {
		return s.UnimplementedAdminServer.ListRoutes(ctx, req)
	}
	return &adminv1.ListRoutesResponse{Routes: s.config.Topology.Routes()}, nil
}

// GetConfiguration gives the configuration in force.
func (s *Service) GetConfiguration(ctx context.Context, req *adminv1.GetConfigurationRequest) (*adminv1.GetConfigurationResponse, error) {
	if s.config.Topology == nil {
		return s.UnimplementedAdminServer.GetConfiguration(ctx, req)
	}
	return s.config.Topology.Configuration(), nil
}
