package gateway

import (
	"context"

	"github.com/genway/genway/gateway/cores"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// deliver makes a call of a core over a connection. A deferred request whose core has not
// announced that it takes such requests, since it is another core than the one that was
// expected, is decoded and sent whole. It fails with the error of its codec where it cannot be
// decoded.
func deliver[Q, A any](ctx context.Context, remote bool, in *Q, call func(context.Context, *Q) (A, error)) (A, error) {
	text, ok := any(in).(*genwayv1.GenerateTextRequest)
	if !ok || !remote || !text.GetWire().GetExtension().GetDeferred() {
		return call(ctx, in)
	}
	delivery := cores.Deferred(ctx)
	answer, err := call(delivery, in) //nolint:contextcheck // delivery is made of ctx
	if err == nil || !delivery.NeedsWhole() {
		return answer, err
	}
	whole, err := deferred.New(text).Whole()
	if err != nil {
		return answer, err
	}
	return call(ctx, any(whole).(*Q)) //nolint:forcetypeassert // Q is the type of text
}
