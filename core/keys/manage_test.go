package keys_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
)

func TestRevoke(t *testing.T) {
	s, m, c := fixture(t)
	named := func(group keys.Group, name string) keys.CreateParams {
		return keys.CreateParams{Group: group, Settings: keys.Settings{Name: name}}
	}
	_, byID := create(t, s, named(keys.GroupChat, "one"))
	_, byName := create(t, s, named(keys.GroupChat, "two"))
	_, twin := create(t, s, named(keys.GroupChat, "twin"))
	_, other := create(t, s, named(keys.GroupMessages, "twin"))
	pasted, unnamed := create(t, s, named(keys.GroupChat, ""))

	steps := []struct {
		name, ref string
		want      string
		err       error
	}{
		{"by id", byID.ID, byID.ID, nil},
		{"by name", "two", byName.ID, nil},
		{"again by id", byID.ID, byID.ID, nil},
		{"again by name", "two", "", keys.ErrNotFound},
		{"ambiguous", "twin", "", keys.ErrAmbiguous},
		{"of no such group", "nobody/twin", "", keys.ErrNotFound},
		{"not in that group", "chat/three", "", keys.ErrNotFound},
		{"an id in a group", "chat/" + unnamed.ID, "", keys.ErrNotFound},
		{"nothing in a group", "chat/", "", keys.ErrNotFound},
		{"one of them by id", twin.ID, twin.ID, nil},
		{"the one left by name", "twin", other.ID, nil},
		{"unknown", "three", "", keys.ErrNotFound},
		{"nothing", "", "", keys.ErrNotFound},
		{"unnamed", unnamed.ID, unnamed.ID, nil},
	}
	for _, step := range steps {
		c.advance(time.Minute)
		got, err := s.Revoke(t.Context(), step.ref)
		if got.ID != step.want || !errors.Is(err, step.err) {
			t.Errorf("%s: got %q, %v", step.name, got.ID, err)
		}
		if err == nil && got.RevokeTime == nil {
			t.Errorf("%s: no time", step.name)
		}
		if errors.Is(err, keys.ErrAmbiguous) && (!strings.Contains(err.Error(), twin.ID) || !strings.Contains(err.Error(), other.ID)) {
			t.Errorf("%s: %q does not name the ids", step.name, err)
		}
	}
	for _, key := range m.keys {
		if key.RevokeTime == nil {
			t.Errorf("%s is not revoked", key.Name)
		}
	}
	first := m.keys[0]
	if age := first.RevokeTime.Sub(first.CreateTime); age != time.Minute {
		t.Errorf("revoked after %s: the second time counted", age)
	}
	if got := strings.Count(strings.Join(audited(m), "\n"), "key.revoke"); got != 5 {
		t.Errorf("%d revocations in the audit, want 5", got)
	}
	if _, err := s.Revoke(t.Context(), pasted); err == nil || strings.Contains(err.Error(), pasted[4:10]) {
		t.Errorf("a pasted key: %v", err)
	}
	m.Close()
	if _, err := s.Revoke(t.Context(), byID.ID); !errors.Is(err, errClosed) {
		t.Errorf("without a store: %v", err)
	}
	if _, err := s.List(t.Context(), keys.Query{Limit: 1000}); !errors.Is(err, errClosed) {
		t.Errorf("without a store: %v", err)
	}
}

func TestUpdate(t *testing.T) {
	s, m, c := fixture(t)
	raw, key := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "ci", Labels: map[string]string{"a": "1"}}})
	other, err := keys.New(keys.Config{Store: m, Clock: func() time.Time { return c.at() }})
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range []*keys.Service{s, other} {
		if _, err := service.Authenticate(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
	}
	expire := c.at().Add(time.Hour)
	policy := keys.Policy{
		Models: []string{"gpt-*"}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Limits: limit.Limits{RequestsPerMinute: 60, Budgets: []limit.Budget{{Amount: limit.Dollar, Period: limit.Month}}},
		Strict: true,
	}
	ctx := audit.WithActor(t.Context(), "user:ada")
	got, err := s.Update(ctx, "ci", func(settings *keys.Settings) error {
		settings.Owner, settings.ExpireTime, settings.Policy = "team", &expire, policy
		settings.Labels["b"] = "2"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	prefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff([]keys.Key{got}, m.keys, prefixes); diff != "" {
		t.Errorf("stored (-returned +stored):\n%s", diff)
	}
	want := keys.Principal{KeyID: key.ID, Group: keys.GroupChat, Name: "ci", Owner: "team", Policy: &policy}
	principal, err := s.Authenticate(t.Context(), raw)
	if diff := cmp.Diff(want, principal, prefixes); diff != "" || err != nil {
		t.Errorf("at once (-want +got): %v\n%s", err, diff)
	}
	c.advance(1500 * time.Millisecond)
	principal, err = other.Authenticate(t.Context(), raw)
	if diff := cmp.Diff(want, principal, prefixes); diff != "" || err != nil {
		t.Errorf("elsewhere, after 1.5 s (-want +got): %v\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{
		`genway key.create {"group":"chat","name":"ci","labels":{"a":"1"}}`,
		`user:ada key.update {"owner":"team","labels":{"a":"1","b":"2"},"expire_time":"2026-03-01T12:00:00.123456Z",` +
			`"models":["gpt-*"],"addresses":["10.0.0.0/8"],"limits":{"requests_per_minute":60,"budgets":[{"amount":1000000000,"period":"month"}]},"strict":true}`,
	}, audited(m)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}

	if _, err := s.Update(ctx, key.ID, func(settings *keys.Settings) error {
		*settings = keys.Settings{Name: "ci"}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	const cleared = `user:ada key.update {"owner":"","labels":null,"expire_time":null,"models":null,"addresses":null,"limits":{},"strict":false}`
	if got := audited(m)[2]; got != cleared {
		t.Errorf("cleared: got %s", got)
	}
}

func TestUpdateRefuses(t *testing.T) {
	s, m, c := fixture(t)
	pasted, key := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "ci"}})
	before := m.keys[0].Clone()
	for name, c := range wrong(pasted, c.at()) {
		_, err := s.Update(t.Context(), key.ID, func(settings *keys.Settings) error { *settings = c.settings; return nil })
		invalid, ok := errors.AsType[*keys.InvalidError](err)
		if !ok || len(invalid.Fields) != 1 || invalid.Fields[0].Field != c.field {
			t.Errorf("%s: got %v, want %s to be named", name, err, c.field)
		}
	}
	refused := errors.New("refused")
	if _, err := s.Update(t.Context(), key.ID, func(settings *keys.Settings) error { settings.Owner = "o"; return refused }); !errors.Is(err, refused) {
		t.Errorf("an error of the change: %v", err)
	}
	if _, err := s.Update(t.Context(), key.ID, func(*keys.Settings) error { return nil }); err != nil {
		t.Errorf("no change: %v", err)
	}
	if _, err := s.Update(t.Context(), "nobody", func(*keys.Settings) error { return nil }); !errors.Is(err, keys.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	if diff := cmp.Diff([]keys.Key{before}, m.keys); diff != "" || len(m.entries) != 1 {
		t.Errorf("%d entries, and (-want +got):\n%s", len(m.entries), diff)
	}
	if _, err := s.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), key.ID, func(settings *keys.Settings) error { settings.Owner = "o"; return nil }); !errors.Is(err, keys.ErrRevoked) {
		t.Errorf("revoked: %v", err)
	}
}

// A key that has expired can be given more time, and whatever does not concern that.
func TestUpdateExpired(t *testing.T) {
	s, _, c := fixture(t)
	end := c.at().Add(time.Minute)
	raw, key := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{ExpireTime: &end}})
	c.advance(time.Hour)
	if _, err := s.Update(t.Context(), key.ID, func(settings *keys.Settings) error { settings.Owner = "o"; return nil }); err != nil {
		t.Errorf("its owner: %v", err)
	}
	if _, err := s.Authenticate(t.Context(), raw); !errors.Is(err, keys.ErrWrongKey) {
		t.Errorf("expired: %v", err)
	}
	later := c.at().Add(time.Minute)
	if _, err := s.Update(t.Context(), key.ID, func(settings *keys.Settings) error { settings.ExpireTime = &later; return nil }); err != nil {
		t.Errorf("more time: %v", err)
	}
	if _, err := s.Authenticate(t.Context(), raw); err != nil {
		t.Errorf("with more time: %v", err)
	}
}

// A failing store at the next call keeps what is known, changed or not.
func TestUpdateThenOutage(t *testing.T) {
	s, m, _ := fixture(t)
	raw, key := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	if _, err := s.Authenticate(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), key.ID, func(settings *keys.Settings) error { settings.Owner = "o"; return nil }); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if _, err := s.Authenticate(t.Context(), raw); err != nil {
		t.Errorf("got %v", err)
	}
}
