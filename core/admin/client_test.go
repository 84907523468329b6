package admin_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// shown shows a key with each call of a connection.
type shown struct {
	grpc.ClientConnInterface
	raw string
}

func (s shown) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return s.ClientConnInterface.Invoke(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.raw), method, args, reply, opts...)
}

// The client sees and does what the service on the store does.
func TestClient(t *testing.T) {
	f := serve(t)
	c := admin.Client{Admin: adminv1.NewAdminClient(shown{f.conn, f.root})}
	same := cmp.Options{
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmpopts.IgnoreFields(keys.Secret{}, "Hash"), cmpopts.EquateEmpty(),
	}
	agree := func(when string, got keys.Key) {
		t.Helper()
		want, err := f.keys.Get(t.Context(), got.ID)
		if diff := cmp.Diff(want, got, same); diff != "" || err != nil {
			t.Errorf("%s (-store +client): %v\n%s", when, err, diff)
		}
	}
	end := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	raw, key, err := c.Create(t.Context(), keys.CreateParams{Group: "messages,chat", Settings: keys.Settings{
		Name: "ci", Owner: "ada", Labels: map[string]string{"a": "b"}, ExpireTime: &end,
		Policy: keys.Policy{
			Models: []string{"m"}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Certificates: []string{"uri:spiffe://a/b"},
			Limits: limit.Limits{RequestsPerMinute: 1, Budgets: []limit.Budget{{Amount: 5, Period: limit.Day}}}, Strict: true,
		},
	}})
	if err != nil || keys.Valid(raw) != nil {
		t.Fatal(raw, err)
	}
	agree("create", key)
	updated, err := c.Update(t.Context(), "ci", func(s *keys.Settings) error {
		s.ExpireTime, s.Policy.Strict, s.Policy.Limits.Budgets, s.Owner = nil, false, nil, "bob"
		return nil
	})
	if err != nil || updated.Owner != "bob" || updated.ExpireTime != nil || updated.Policy.Limits.RequestsPerMinute != 1 {
		t.Errorf("update: %+v, %v", updated, err)
	}
	agree("update", updated)
	rotated, err := c.Rotate(t.Context(), "ci", keys.Rotation{Grace: time.Hour})
	if err != nil || keys.Valid(rotated.Raw) != nil {
		t.Errorf("rotate: %v", err)
	}
	agree("rotate", rotated.Key)
	revoked, err := c.Revoke(t.Context(), "ci")
	if err != nil || revoked.RevokeTime == nil {
		t.Errorf("revoke: %v", err)
	}
	agree("revoke", revoked)
	got, err := c.Get(t.Context(), key.ID)
	if err != nil {
		t.Error(err)
	}
	agree("get", got)
	made, err := c.Import(t.Context(), []keys.CreateParams{{Group: keys.GroupChat}, {Group: keys.GroupMessages}}, false)
	if err != nil || len(made) != 2 {
		t.Errorf("import: %v", err)
	}
	n := 0
	for key, err := range c.All(t.Context(), keys.Query{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
		agree("list", key)
	}
	if n != 4 {
		t.Errorf("list: %d keys", n)
	}

	_, err = c.Import(t.Context(), []keys.CreateParams{{Group: keys.GroupChat}, {Group: keys.GroupChat, Settings: keys.Settings{Owner: " "}}}, true)
	if invalid, ok := errors.AsType[*keys.InvalidError](err); !ok || invalid.Index != 1 || invalid.Fields[0].Field != "owner" {
		t.Errorf("a wrong import: %v", err)
	}
	if _, err := c.Get(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), "find key: no key has that id") {
		t.Errorf("nobody: %v", err)
	}
	refused := errors.New("refused")
	if _, err := c.Update(t.Context(), made[0].Key.ID, func(*keys.Settings) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("an error of the change: %v", err)
	}
	if _, err := c.Update(t.Context(), made[0].Key.ID, func(*keys.Settings) error { return nil }); err != nil {
		t.Errorf("no change: %v", err)
	}
}
