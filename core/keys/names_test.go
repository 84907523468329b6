package keys_test

import (
	"errors"
	"strings"
	"testing"

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
