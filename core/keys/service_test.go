package keys_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/keys"
)

// clock is a time that a test sets.
type clock struct{ now time.Time }

func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

// fixture is a service over a memory, at a time the test sets.
func fixture(t testing.TB) (*keys.Service, *memory, *clock) {
	t.Helper()
	m := &memory{}
	c := &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600))}
	s, err := keys.New(keys.Config{Store: m, Clock: func() time.Time { return c.now }})
	if err != nil {
		t.Fatal(err)
	}
	return s, m, c
}

func create(t testing.TB, s *keys.Service, params keys.CreateParams) (string, keys.Key) {
	t.Helper()
	raw, key, err := s.Create(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	return raw, key
}

func TestNewRefuses(t *testing.T) {
	m := &memory{}
	for name, cfg := range map[string]keys.Config{
		"no store":           {},
		"too late":           {Store: m, Freshness: 1001 * time.Millisecond},
		"negative freshness": {Store: m, Freshness: -1},
		"negative staleness": {Store: m, Staleness: -1},
		"negative timeout":   {Store: m, Timeout: -1},
	} {
		if _, err := keys.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCreate(t *testing.T) {
	s, m, c := fixture(t)
	expire := c.now.Add(time.Hour)
	raw, key := create(t, s, keys.CreateParams{Group: keys.GroupMessages, Name: "ci", ExpireTime: &expire})
	if err := keys.Valid(raw); err != nil {
		t.Errorf("%q: %v", raw, err)
	}
	if !regexp.MustCompile(`^key_[0-9A-Za-z]{12}$`).MatchString(key.ID) {
		t.Errorf("id %q", key.ID)
	}
	wantExpire := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	want := keys.Key{
		ID: key.ID, Group: keys.GroupMessages, Name: "ci",
		CreateTime: time.Date(2026, 3, 1, 11, 0, 0, 123456000, time.UTC), ExpireTime: &wantExpire,
	}
	if diff := cmp.Diff(want, key); diff != "" {
		t.Errorf("key (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]keys.Credential{{Key: want, Hash: keys.Hash(raw)}}, m.credentials); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	list, err := s.List(t.Context())
	if diff := cmp.Diff([]keys.Key{want}, list); diff != "" || err != nil {
		t.Errorf("list (-want +got): %v\n%s", err, diff)
	}
}

func TestCreateRefuses(t *testing.T) {
	s, m, c := fixture(t)
	pasted, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	now := c.now
	for name, params := range map[string]keys.CreateParams{
		"no group":      {},
		"unknown group": {Group: "responses"},
		"key as name":   {Group: keys.GroupChat, Name: pasted},
		"id as name":    {Group: keys.GroupChat, Name: "key_0"},
		"long name":     {Group: keys.GroupChat, Name: strings.Repeat("n", 101)},
		"two lines":     {Group: keys.GroupChat, Name: "one\ntwo"},
		"terminal name": {Group: keys.GroupChat, Name: "\x1b[2J"},
		"not utf-8":     {Group: keys.GroupChat, Name: "\xff"},
		"spaces around": {Group: keys.GroupChat, Name: " n"},
		"expired":       {Group: keys.GroupChat, ExpireTime: &now},
	} {
		t.Run(name, func(t *testing.T) {
			raw, key, err := s.Create(t.Context(), params)
			if err == nil || raw != "" || key.ID != "" {
				t.Errorf("got %q, %v, %v", raw, key, err)
			}
			if err != nil && strings.Contains(err.Error(), pasted[4:]) {
				t.Errorf("%q shows the key", err)
			}
		})
	}
	if len(m.credentials) != 1 {
		t.Errorf("stored %d keys", len(m.credentials)-1)
	}
	for _, name := range []string{"", "n", strings.Repeat("n", 100), "Zoë's laptop", "鍵"} {
		create(t, s, keys.CreateParams{Group: keys.GroupChat, Name: name})
	}
}

func TestCreateFails(t *testing.T) {
	s, m, _ := fixture(t)
	m.closed = true
	if raw, _, err := s.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat}); !errors.Is(err, errClosed) || raw != "" {
		t.Errorf("got %q, %v", raw, err)
	}
	short, err := keys.New(keys.Config{Store: &memory{}, Random: bytes.NewReader(make([]byte, 20))})
	if err != nil {
		t.Fatal(err)
	}
	if raw, _, err := short.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat}); err == nil || raw != "" {
		t.Errorf("without randomness: got %q, %v", raw, err)
	}
}

func TestRevoke(t *testing.T) {
	s, m, c := fixture(t)
	_, byID := create(t, s, keys.CreateParams{Group: keys.GroupChat, Name: "one"})
	_, byName := create(t, s, keys.CreateParams{Group: keys.GroupChat, Name: "two"})
	_, twin := create(t, s, keys.CreateParams{Group: keys.GroupChat, Name: "twin"})
	_, other := create(t, s, keys.CreateParams{Group: keys.GroupMessages, Name: "twin"})
	pasted, unnamed := create(t, s, keys.CreateParams{Group: keys.GroupChat})

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
	for _, credential := range m.credentials {
		if credential.Key.RevokeTime == nil {
			t.Errorf("%s is not revoked", credential.Key.Name)
		}
	}
	first := m.credentials[0].Key
	if age := first.RevokeTime.Sub(first.CreateTime); age != time.Minute {
		t.Errorf("revoked after %s: the second time counted", age)
	}
	if _, err := s.Revoke(t.Context(), pasted); err == nil || strings.Contains(err.Error(), pasted[4:10]) {
		t.Errorf("a pasted key: %v", err)
	}
	m.closed = true
	if _, err := s.Revoke(t.Context(), byID.ID); !errors.Is(err, errClosed) {
		t.Errorf("without a store: %v", err)
	}
	if _, err := s.List(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("without a store: %v", err)
	}
}

func TestMintDefaults(t *testing.T) {
	s, m, _ := fixture(t)
	minted, first, err := s.MintDefaults(t.Context())
	if err != nil || !first || len(minted) != len(keys.Groups()) {
		t.Fatalf("got %v, %t, %v", minted, first, err)
	}
	for group, raw := range minted {
		got, err := s.Authenticate(t.Context(), raw)
		if err != nil || got.Group != group || got.Name != "default-"+string(group) {
			t.Errorf("%s: got %+v, %v", group, got, err)
		}
	}
	if minted, first, err := s.MintDefaults(t.Context()); err != nil || first || minted != nil {
		t.Errorf("a second start: got %v, %t, %v", minted, first, err)
	}
	m.closed = true
	if minted, first, err := s.MintDefaults(t.Context()); !errors.Is(err, errClosed) || first || minted != nil {
		t.Errorf("without a store: got %v, %t, %v", minted, first, err)
	}
}
