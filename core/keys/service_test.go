package keys_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/keys"
)

// clock is a time that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) advance(d time.Duration) { c.set(c.at().Add(d)) }

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

func (c *clock) at() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// fixture is a service over a memory, at a time the test sets.
func fixture(t testing.TB) (*keys.Service, *memory, *clock) {
	t.Helper()
	m := &memory{}
	c := &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600))}
	s, err := keys.New(keys.Config{Store: m, Clock: c.at})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, m, c
}

// audited is the audit record: who did what, and its detail.
func audited(m *memory) []string {
	var lines []string
	for _, e := range m.entries {
		lines = append(lines, strings.TrimSpace(strings.Join([]string{e.Actor, e.Action, e.Detail}, " ")))
	}
	return lines
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
	expire := c.at().Add(time.Hour)
	raw, key := create(t, s, keys.CreateParams{Group: keys.GroupMessages, Settings: keys.Settings{Name: "ci", ExpireTime: &expire}})
	if err := keys.Valid(raw); err != nil {
		t.Errorf("%q: %v", raw, err)
	}
	if !regexp.MustCompile(`^key_[0-9A-Za-z]{12}$`).MatchString(key.ID) {
		t.Errorf("id %q", key.ID)
	}
	wantExpire := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	now := time.Date(2026, 3, 1, 11, 0, 0, 123456000, time.UTC)
	want := keys.Key{
		ID: key.ID, Group: keys.GroupMessages, Settings: keys.Settings{Name: "ci", ExpireTime: &wantExpire},
		CreateTime: now, Secrets: []keys.Secret{{Hash: keys.Hash(raw), CreateTime: now}},
	}
	if diff := cmp.Diff(want, key); diff != "" {
		t.Errorf("key (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]keys.Key{want}, m.keys); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	list, err := s.List(t.Context(), keys.Query{Limit: 1000})
	if diff := cmp.Diff([]keys.Key{want}, list); diff != "" || err != nil {
		t.Errorf("list (-want +got): %v\n%s", err, diff)
	}
}

func TestCreateFails(t *testing.T) {
	s, m, _ := fixture(t)
	m.Close()
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

func TestMintDefaults(t *testing.T) {
	s, m, _ := fixture(t)
	minted, first, err := s.MintDefaults(t.Context(), nil)
	if err != nil || !first || len(minted) != 4 {
		t.Fatalf("got %v, %t, %v", minted, first, err)
	}
	for group, raw := range minted {
		got, err := s.Authenticate(t.Context(), raw)
		if err != nil || got.Group != group || got.Name != "default-"+string(group) {
			t.Errorf("%s: got %+v, %v", group, got, err)
		}
	}
	for _, key := range m.keys {
		if key.Group == keys.GroupAdmin {
			t.Errorf("%s is of the group admin", key.ID)
		}
	}
	if diff := cmp.Diff([]string{
		`genway key.create {"group":"chat","name":"default-chat"}`,
		`genway key.create {"group":"messages","name":"default-messages"}`,
		`genway key.create {"group":"generatecontent","name":"default-generatecontent"}`,
		`genway key.create {"group":"internal","name":"default-internal"}`,
	}, audited(m)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if minted, first, err := s.MintDefaults(t.Context(), nil); err != nil || first || minted != nil {
		t.Errorf("a second start: got %v, %t, %v", minted, first, err)
	}
	m.Close()
	if minted, first, err := s.MintDefaults(t.Context(), nil); !errors.Is(err, errClosed) || first || minted != nil {
		t.Errorf("without a store: got %v, %t, %v", minted, first, err)
	}
}
