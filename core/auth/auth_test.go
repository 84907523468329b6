package auth_test

import (
	"context"
	"strings"
	"testing"

	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/keys"
	"google.golang.org/grpc/metadata"
)

// everyKey takes every key for one of the group chat.
type everyKey struct{}

func (everyKey) Authenticate(context.Context, string) (keys.Principal, error) {
	return keys.Principal{Group: keys.GroupChat}, nil
}

// An edge with a wrong secret is a direct caller; its operator is shown that it is the
// edge that is wrong, not the callers' keys.
func TestAnEdgeWithoutProofIsTold(t *testing.T) {
	a := auth.Authenticator{Keys: everyKey{}, Trust: auth.TrustSecret("the right one")}
	for _, c := range []struct {
		name  string
		md    []string
		edge  bool
		blame bool
	}{
		{"right secret", []string{auth.ProtocolKey, "responses", auth.SecretKey, "the right one"}, true, false},
		{"wrong secret", []string{auth.ProtocolKey, "responses", auth.SecretKey, "a wrong one"}, false, true},
		{"no secret", []string{auth.ProtocolKey, "responses"}, false, true},
		{"direct", nil, false, false},
	} {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(append(c.md, "authorization", "Bearer k")...))
		caller, err := a.Authenticate(ctx, "/genway.v1.Generation/GenerateText")
		if caller.Edge != c.edge || (err == nil) != c.edge {
			t.Errorf("%s: %+v, %v", c.name, caller, err)
		}
		if err != nil && strings.Contains(err.Error(), "the edge did not prove to be one") != c.blame {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
