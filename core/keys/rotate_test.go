package keys_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/keys"
)

// good demands which of secrets are good.
func good(t *testing.T, s *keys.Service, when string, secrets map[string]bool) {
	t.Helper()
	for raw, want := range secrets {
		_, err := s.Authenticate(t.Context(), raw)
		if want && err != nil || !want && !errors.Is(err, keys.ErrWrongKey) {
			t.Errorf("%s: %s…: got %v", when, raw[:8], err)
		}
	}
}

// Case K10: two secrets of one key, the older one for the grace.
func TestRotate(t *testing.T) {
	s, m, c := fixture(t)
	elsewhere, err := keys.New(keys.Config{Store: m, Clock: func() time.Time { return c.at() }})
	if err != nil {
		t.Fatal(err)
	}
	first, key := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "ci"}})
	good(t, elsewhere, "first", map[string]bool{first: true})

	c.advance(time.Minute)
	second, err := s.Rotate(t.Context(), "ci", keys.Rotation{Grace: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{first, second.Raw} {
		got, err := s.Authenticate(t.Context(), raw)
		want := keys.Principal{KeyID: key.ID, Group: keys.GroupChat, Name: "ci", Policy: &keys.Policy{}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("within the grace (-want +got): %v\n%s", err, diff)
		}
	}
	now, end := c.at().UTC().Truncate(time.Microsecond), c.at().Add(time.Hour).UTC().Truncate(time.Microsecond)
	if diff := cmp.Diff([]keys.Secret{
		{Hash: keys.Hash(second.Raw), CreateTime: now},
		{Hash: keys.Hash(first), CreateTime: now.Add(-time.Minute), ExpireTime: &end},
	}, m.keys[0].Secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if got, want := audited(m)[1], `genway key.rotate {"previous_expire_time":"2026-03-01T12:01:00.123456Z"}`; got != want {
		t.Errorf("audit: got %s", got)
	}

	// Another within the grace: the oldest ends, here and elsewhere.
	c.advance(time.Minute)
	third, err := s.Rotate(t.Context(), key.ID, keys.Rotation{Grace: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	three := map[string]bool{first: false, second.Raw: true, third.Raw: true}
	good(t, s, "a third", three)
	c.advance(1500 * time.Millisecond)
	good(t, elsewhere, "a third, elsewhere", three)

	c.advance(time.Hour)
	after := map[string]bool{first: false, second.Raw: false, third.Raw: true}
	good(t, s, "behind the grace", after)
	good(t, elsewhere, "behind the grace, elsewhere", after)

	fourth, err := s.Rotate(t.Context(), key.ID, keys.Rotation{Grace: 0})
	if err != nil {
		t.Fatal(err)
	}
	good(t, s, "without a grace", map[string]bool{third.Raw: false, fourth.Raw: true})
	if n := len(m.keys[0].Secrets); n != 1 {
		t.Errorf("%d secrets are left", n)
	}
}

// What ended by a rotation is refused by this process without the store.
func TestRotateThenOutage(t *testing.T) {
	s, m, _ := fixture(t)
	leaked, key := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	good(t, s, "before", map[string]bool{leaked: true})
	if _, err := s.Rotate(t.Context(), key.ID, keys.Rotation{Grace: 0}); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if _, err := s.Authenticate(t.Context(), leaked); err == nil {
		t.Error("the old secret is still accepted")
	}
}

func TestRevocationEndsBothSecrets(t *testing.T) {
	s, _, _ := fixture(t)
	first, key := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	second, err := s.Rotate(t.Context(), key.ID, keys.Rotation{Grace: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	good(t, s, "before", map[string]bool{first: true, second.Raw: true})
	if _, err := s.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	good(t, s, "after", map[string]bool{first: false, second.Raw: false})
}

// The key's own end counts for each of its secrets.
func TestExpiryEndsBothSecrets(t *testing.T) {
	s, _, c := fixture(t)
	end := c.at().Add(time.Minute)
	first, key := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{ExpireTime: &end}})
	second, err := s.Rotate(t.Context(), key.ID, keys.Rotation{Grace: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	good(t, s, "before", map[string]bool{first: true, second.Raw: true})
	c.advance(time.Minute)
	good(t, s, "after", map[string]bool{first: false, second.Raw: false})
}

func TestRotateRefuses(t *testing.T) {
	s, m, c := fixture(t)
	soon := c.at().Add(time.Minute)
	raw, expired := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{ExpireTime: &soon}})
	_, revoked := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	if _, err := s.Revoke(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	c.set(soon)
	before := len(m.entries)
	for _, step := range []struct {
		name, ref string
		grace     time.Duration
		want      error
		text      string
	}{
		{"expired", expired.ID, 0, keys.ErrExpired, expired.ID},
		{"revoked", revoked.ID, 0, keys.ErrRevoked, revoked.ID},
		{"unknown", "nobody", 0, keys.ErrNotFound, "nobody"},
		{"a key itself", raw, 0, nil, "your shell's history"},
		{"negative grace", expired.ID, -1, nil, "grace: expected 0 to 2160h0m0s"},
		{"long grace", expired.ID, keys.MaxGrace + 1, nil, "grace: expected 0 to 2160h0m0s"},
	} {
		got, err := s.Rotate(t.Context(), step.ref, keys.Rotation{Grace: step.grace})
		if err == nil || step.want != nil && !errors.Is(err, step.want) || got.Raw != "" || !strings.Contains(err.Error(), step.text) {
			t.Errorf("%s: got %+v, %v", step.name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), raw[4:]) {
			t.Errorf("%s: %v shows the key", step.name, err)
		}
	}
	if len(m.entries) != before {
		t.Error("a refusal is in the audit")
	}
}
