package coreproc

import (
	"context"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/core/config"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
)

// fewTokens is how long the answer to a check may be: the least that all vendors take.
const fewTokens = 16

// asks returns the cheapest call that checks an upstream: its list of models, a count of tokens
// where the upstream counts, or else an answer of a few tokens.
func asks(u config.Upstream, made adapter) func(context.Context) error {
	if u.Check.Model == "" {
		return func(ctx context.Context) error {
			_, err := made.ListModels(ctx, "")
			return err
		}
	}
	req := &genwayv1.GenerateTextRequest{
		Model: u.Check.Model, MaxOutputTokens: new(int64(fewTokens)),
		Messages: []*genwayv1.Message{{
			Role:  genwayv1.Role_ROLE_USER,
			Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}},
		}},
	}
	if p, place := protocol.ByKind(u.Kind), u.Place(); p != nil && (place == nil || !place.NoCount) {
		if _, counts := p.Codec.(codec.TokenCounter); counts {
			return func(ctx context.Context) error {
				_, err := made.CountTokens(ctx, &genwayv1.CountTokensRequest{Request: &genwayv1.GenerateTextRequest{Model: req.GetModel(), Messages: req.GetMessages()}})
				return err
			}
		}
	}
	return func(ctx context.Context) error {
		_, err := made.GenerateText(ctx, deferred.New(req))
		return err
	}
}
