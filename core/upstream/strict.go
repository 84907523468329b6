package upstream

import (
	"context"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Lossless refuses a call that would lose something, if it is strict. It is asked
// ahead of the upstream wherever the losses are known by then: a refused request
// should cost nothing.
func Lossless(ctx context.Context, losses []*genwayv1.Loss) error {
	if len(losses) == 0 || !call.Of(ctx).Strict {
		return nil
	}
	first := losses[0]
	return fault.Unsupported(first.GetMember(), "%s cannot be carried to the upstream of this model: %s", first.GetMember(), first.GetReason())
}
