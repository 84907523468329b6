package core_test

import (
	"context"
	"testing"

	"github.com/genway/genway/core"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// strictness is an upstream that answers whether the call is strict.
type strictness struct{ scripted }

func (*strictness) GenerateText(ctx context.Context, _ *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	if call.Of(ctx).Strict {
		return &genwayv1.GenerateTextResponse{Id: "strict"}, nil
	}
	return &genwayv1.GenerateTextResponse{Id: "lenient"}, nil
}

// A key that is strict makes its calls so.
func TestStrictKeys(t *testing.T) {
	service, err := core.New(core.Config{Upstream: &strictness{}})
	if err != nil {
		t.Fatal(err)
	}
	for want, policy := range map[string]*keys.Policy{"strict": {Strict: true}, "lenient": {}} {
		ctx := call.With(t.Context(), &call.Record{Caller: call.Caller{Principal: keys.Principal{KeyID: "k", Policy: policy}}})
		if resp, err := service.GenerateText(ctx, request()); err != nil || resp.GetId() != want {
			t.Errorf("%s: %v, %v", want, resp, err)
		}
	}
}
