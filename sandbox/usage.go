package sandbox

import (
	"context"

	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens/content"
)

// input is the tokens of a request, as internal/tokens/content counts them.
type input struct{ content.Input }

func countInput(req *genwayv1.GenerateTextRequest) *input { return &input{content.Of(req)} }

// CountTokens counts what GenerateText would report as usage.input_tokens. Models
// that fail at once fail here as well.
func (s *Sandbox) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	call.Of(ctx).Calls++
	m, err := s.find(req.GetRequest().GetModel(), false)
	if err != nil {
		return nil, err
	}
	if err := m.before(ctx); err != nil {
		return nil, err
	}
	full, err := s.memory.recall(call.Of(ctx).Caller.KeyID, withoutLifted(req.GetRequest()))
	if err != nil {
		return nil, err
	}
	in := countInput(full)
	usage := &genwayv1.Usage{InputTokens: in.Total(), TotalTokens: in.Total()}
	in.details(usage, full, traitsOf(req.GetWire().GetProtocol()).breakdown)
	return &genwayv1.CountTokensResponse{InputTokens: in.Total(), Usage: usage}, nil
}

// details fills what the caller's protocol breaks down: modalities once there are
// several, and a cache that was marked, though the sandbox has none.
func (in *input) details(u *genwayv1.Usage, req *genwayv1.GenerateTextRequest, shows modalities) {
	if in.Image+in.Audio > 0 && shows.all {
		u.InputTextTokens, u.InputImageTokens = new(int64(in.Text)), new(int64(in.Image))
	}
	if in.Audio > 0 && shows.audio {
		u.InputAudioTokens = new(int64(in.Audio))
	}
	if find(req).marks > 0 {
		u.CacheReadInputTokens, u.CacheWriteInputTokens = new(int64(0)), new(int64(0))
		u.CacheWrites = []*genwayv1.CacheWrite{{Ttl: "5m"}, {Ttl: "1h"}}
	}
}
