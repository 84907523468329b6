package sandbox

import (
	"context"

	"github.com/genway/genway/core/tokens/content"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// input is the tokens of a request, as core/tokens/content counts them.
type input struct{ content.Input }

func countInput(req *genwayv1.GenerateTextRequest) *input { return &input{content.Of(req)} }

// CountTokens counts what GenerateText would report as usage.input_tokens. Models
// that fail at once fail here as well.
func (s *Sandbox) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	upstream.NoteOf(ctx).Calls++
	m, err := s.find(req.GetRequest().GetModel(), false)
	if err != nil {
		return nil, err
	}
	if err := m.before(ctx); err != nil {
		return nil, err
	}
	full, err := s.memory.recall(withoutLifted(req.GetRequest()))
	if err != nil {
		return nil, err
	}
	in := countInput(full)
	usage := &genwayv1.Usage{InputTokens: in.Total(), TotalTokens: in.Total()}
	in.details(usage, full, req.GetWire().GetProtocol())
	return &genwayv1.CountTokensResponse{InputTokens: in.Total(), Usage: usage}, nil
}

// details fills what the caller's protocol breaks down: modalities once there are
// several, and a cache that was marked, though the sandbox has none.
func (in *input) details(u *genwayv1.Usage, req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol) {
	shows := breakdown(protocol)
	if in.Image+in.Audio > 0 && shows.all {
		u.InputTextTokens, u.InputImageTokens = new(int64(in.Text)), new(int64(in.Image))
	}
	if in.Audio > 0 && shows.audio {
		u.InputAudioTokens = new(int64(in.Audio))
	}
	if find(req).marks > 0 {
		u.CacheReadInputTokens, u.CacheWriteInputTokens = new(int64(0)), new(int64(0))
		u.CacheWrite_5MInputTokens, u.CacheWrite_1HInputTokens = new(int64(0)), new(int64(0))
	}
}

// modalities say which of them a usage report tells apart.
type modalities struct{ audio, all bool }

// breakdown is what a protocol has members for: generateContent all of them, chat
// completions audio, the others none. A direct caller gets all.
func breakdown(protocol genwayv1.Protocol) modalities {
	switch protocol {
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS:
		return modalities{audio: true}
	case genwayv1.Protocol_PROTOCOL_RESPONSES, genwayv1.Protocol_PROTOCOL_MESSAGES:
		return modalities{}
	default:
		return modalities{audio: true, all: true}
	}
}
