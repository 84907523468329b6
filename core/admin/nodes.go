package admin

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

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
