package keys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/keys"
)

// What descends from the session of an identity provider's subject is the subject's, and ends with that
// session at the latest: an identity provider that has removed somebody keeps them out 12 hours later.
func TestSessionsOfASubject(t *testing.T) {
	s, _, c := fixture(t)
	begin := func(params keys.SessionParams) keys.Created {
		t.Helper()
		made, err := s.StartSession(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := begin(keys.SessionParams{Subject: "u-1", Email: "a@example.com", ReadOnly: true})
	if first.Key.Owner != "a@example.com" || !first.Key.Policy.ReadOnly || first.Key.Labels[keys.LabelConsoleSubject] != "u-1" {
		t.Errorf("%+v", first.Key)
	}
	end := first.Key.ExpireTime.Truncate(time.Second)
	last := first
	for range 5 {
		c.advance(3*time.Hour - 10*time.Minute)
		if _, err := s.Authenticate(t.Context(), last.Raw); err != nil {
			if !c.at().Before(end) {
				break
			}
			t.Fatal(err)
		}
		link := begin(keys.SessionParams{By: last.Key.ID, Link: true})
		last = begin(keys.SessionParams{By: link.Key.ID})
		if last.Key.ExpireTime.After(end) || last.Key.Labels[keys.LabelConsoleSubject] != "u-1" || last.Key.Labels[keys.LabelConsoleBy] != first.Key.ID || !last.Key.Policy.ReadOnly {
			t.Errorf("%+v", last.Key)
		}
	}
	if c.at().Before(end) {
		t.Error("the sessions end early")
	}
	if _, err := s.Authenticate(t.Context(), last.Raw); err == nil {
		t.Error("a chain of links outlives the sign-in")
	}
	again := begin(keys.SessionParams{Subject: "u-1"})
	link := begin(keys.SessionParams{By: again.Key.ID, Link: true})
	if err := s.EndSessions(t.Context(), again.Key.ID); err != nil {
		t.Fatal(err)
	}
	if key, err := s.Get(t.Context(), link.Key.ID); err != nil || key.RevokeTime == nil {
		t.Errorf("a link outlives its session: %+v, %v", key, err)
	}
}

// A subject's owner is a name that owners can have, and a subject that no label can hold is refused.
func TestOwnersOfSubjects(t *testing.T) {
	s, _, _ := fixture(t)
	long := strings.Repeat("a", 101)
	for want, params := range map[string]keys.SessionParams{
		"u-1":   {Subject: "u-1"},
		"u-2":   {Subject: "u-2", Email: "a\x00b"},
		"u-3":   {Subject: "u-3", Email: long},
		"":      {Subject: long, Email: " a"},
		"a@b.c": {Subject: long, Email: "a@b.c"},
	} {
		if made, err := s.StartSession(t.Context(), params); err != nil || made.Key.Owner != want {
			t.Errorf("%+v: %q, %v", params, made.Key.Owner, err)
		}
	}
	for _, params := range []keys.SessionParams{{}, {Subject: "gwk_x"}, {Subject: "a\nb"}, {Subject: strings.Repeat("a", 256)}, {Subject: "u", By: "key_x"}} {
		if made, err := s.StartSession(t.Context(), params); err == nil {
			t.Errorf("%+v: %+v", params, made.Key)
		}
	}
}
