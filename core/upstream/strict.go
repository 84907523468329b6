package upstream

import (
	"context"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

type strictKey struct{}

// WithStrict gives a context whose calls are refused rather than lose anything: for a
// caller whose key says so, or a route that does.
func WithStrict(ctx context.Context) context.Context {
	return context.WithValue(ctx, strictKey{}, true)
}

// Strict reports whether a call is refused rather than lose anything.
func Strict(ctx context.Context) bool {
	strict, _ := ctx.Value(strictKey{}).(bool)
	return strict
}

// Lossless refuses a call that would lose something, if it is strict. It is asked
// ahead of the upstream wherever the losses are known by then: a refused request
// should cost nothing.
func Lossless(ctx context.Context, losses []*genwayv1.Loss) error {
	if len(losses) == 0 || !Strict(ctx) {
		return nil
	}
	first := losses[0]
	return fault.Unsupported(first.GetMember(), "%s cannot be carried to the upstream of this model: %s", first.GetMember(), first.GetReason())
}
