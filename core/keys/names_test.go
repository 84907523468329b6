package keys_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/keys"
)

// A name is taken once in its group; a key is named by it as long as no other group has
// it, and as GROUP/NAME otherwise.
func TestNames(t *testing.T) {
	s, m, _ := fixture(t)
	named := func(group keys.Group, name string) keys.CreateParams {
		return keys.CreateParams{Group: group, Settings: keys.Settings{Name: name}}
	}
	_, chat := create(t, s, named(keys.GroupChat, "ci"))
	_, messages := create(t, s, named(keys.GroupMessages, "ci"))
	_, slashed := create(t, s, named(keys.GroupInternal, "chat/ci/x"))
	refused := func(what string, err error) {
		t.Helper()
		invalid, ok := errors.AsType[*keys.InvalidError](err)
		if !ok || invalid.Fields[0].Field != "name" || invalid.Fields[0].Reason != "it is taken: "+chat.ID+" has it" {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, _, err := s.Create(t.Context(), named(keys.GroupChat, "ci"))
	refused("created", err)
	_, other := create(t, s, named(keys.GroupChat, "other"))
	rename := func(to *keys.Settings) error { to.Name = "ci"; return nil }
	_, err = s.Update(t.Context(), "other", rename)
	refused("renamed", err)
	for ref, want := range map[string]string{"chat/ci": chat.ID, "messages/ci": messages.ID, "chat/ci/x": slashed.ID, "chat/other": other.ID} {
		if got, err := s.Get(t.Context(), ref); err != nil || got.ID != want {
			t.Errorf("%s: %v, %v", ref, got.ID, err)
		}
	}
	if _, err := s.Get(t.Context(), "ci"); !errors.Is(err, keys.ErrAmbiguous) || !strings.Contains(err.Error(), chat.ID+" of chat") || !strings.Contains(err.Error(), messages.ID+" of messages") {
		t.Errorf("ambiguous: %v", err)
	}
	// Keys of earlier versions that share a name go on, and are distinguished by id.
	m.keys[3].Name = "ci"
	if _, err := s.Update(t.Context(), other.ID, func(to *keys.Settings) error { to.Owner = "x"; return nil }); err != nil {
		t.Errorf("a key that shares its name: %v", err)
	}
	if _, err := s.Get(t.Context(), "chat/ci"); !errors.Is(err, keys.ErrAmbiguous) {
		t.Errorf("two of a group: %v", err)
	}
	if _, err := s.Revoke(t.Context(), other.ID); err != nil {
		t.Error(err)
	}
	if got, err := s.Get(t.Context(), "chat/ci"); err != nil || got.ID != chat.ID {
		t.Errorf("the one left: %v, %v", got.ID, err)
	}
}

// A key of several groups is one key: in any order, with one name in all of its groups, and its
// groups stay when it is rotated.
func TestKeyOfSeveralGroups(t *testing.T) {
	s, m, _ := fixture(t)
	params := keys.CreateParams{Group: "messages,chat", Settings: keys.Settings{Name: "dev"}}
	raw, key := create(t, s, params)
	if key.Group != "chat,messages" {
		t.Errorf("made of %q", key.Group)
	}
	made, err := s.Rotate(t.Context(), "dev", keys.Rotation{Grace: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{raw, made.Raw} {
		if who, err := s.Authenticate(t.Context(), secret); err != nil || who.KeyID != key.ID || who.Group != key.Group {
			t.Errorf("got %+v, %v", who, err)
		}
	}
	if got := audited(m)[0]; got != `genway key.create {"group":"chat,messages","name":"dev"}` {
		t.Errorf("recorded as %s", got)
	}
	_, other := create(t, s, keys.CreateParams{Group: keys.GroupGenerateContent, Settings: keys.Settings{Name: "dev"}})
	for ref, want := range map[string]string{"chat/dev": key.ID, "messages/dev": key.ID, "generatecontent/dev": other.ID} {
		if got, err := s.Get(t.Context(), ref); err != nil || got.ID != want {
			t.Errorf("%s: %v, %v", ref, got.ID, err)
		}
	}
	for _, group := range []keys.Group{keys.GroupChat, keys.GroupMessages, "messages,generatecontent", "chat,messages"} {
		_, _, err := s.Create(t.Context(), keys.CreateParams{Group: group, Settings: keys.Settings{Name: "dev"}})
		if invalid, ok := errors.AsType[*keys.InvalidError](err); !ok || invalid.Fields[0].Field != "name" {
			t.Errorf("the name again in %s: %v", group, err)
		}
	}
	for _, group := range []keys.Group{"chat,chat", "chat,", "chat,admin"} {
		_, _, err := s.Create(t.Context(), keys.CreateParams{Group: group})
		if invalid, ok := errors.AsType[*keys.InvalidError](err); !ok || invalid.Fields[0].Field != "group" {
			t.Errorf("%s: %v", group, err)
		}
	}
	for group, want := range map[keys.Group]int{keys.GroupChat: 1, keys.GroupMessages: 1, keys.GroupGenerateContent: 1, keys.GroupInternal: 0} {
		if list, err := s.List(t.Context(), keys.Query{Group: group, Limit: 10}); err != nil || len(list) != want {
			t.Errorf("%d keys serve %s, %v", len(list), group, err)
		}
	}
}
