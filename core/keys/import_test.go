package keys_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/core/keys"
)

func TestImport(t *testing.T) {
	s, m, _ := fixture(t)
	params := []keys.CreateParams{
		{Group: keys.GroupChat, Settings: keys.Settings{Name: "one"}},
		{Group: keys.GroupMessages, Settings: keys.Settings{Name: "two", Owner: "team"}},
		{Group: keys.GroupChat},
	}
	dry, err := s.Import(t.Context(), params, true)
	if err != nil || len(dry) != 3 || dry[1].Key.Name != "two" || dry[0].Raw != "" || dry[0].Key.ID != "" {
		t.Errorf("dry: got %+v, %v", dry, err)
	}
	if len(m.keys) != 0 || len(m.entries) != 0 {
		t.Errorf("dry made %d keys", len(m.keys))
	}
	made, err := s.Import(t.Context(), params, false)
	if err != nil || len(made) != 3 {
		t.Fatalf("got %+v, %v", made, err)
	}
	for i, c := range made {
		got, err := s.Authenticate(t.Context(), c.Raw)
		if err != nil || got.KeyID != c.Key.ID || got.Group != params[i].Group || got.Owner != params[i].Owner {
			t.Errorf("%d: got %+v, %v", i, got, err)
		}
	}
	if got := audited(m)[1]; got != `genway key.import {"group":"messages","name":"two","owner":"team"}` {
		t.Errorf("audit: %s", got)
	}
	if made, err := s.Import(t.Context(), nil, false); err != nil || len(made) != 0 || len(m.keys) != 3 {
		t.Errorf("nothing: got %v, %v", made, err)
	}
}

// All or none, and the one that is wrong is named.
func TestImportRefuses(t *testing.T) {
	s, m, _ := fixture(t)
	_, taken := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "taken"}})
	_, revoked := create(t, s, keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "free again"}})
	if _, err := s.Revoke(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	ok := keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "free again"}}
	for name, c := range map[string]struct {
		wrong keys.CreateParams
		field string
		text  string
	}{
		"member":     {keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Owner: " "}}, "owner", "spaces"},
		"group":      {keys.CreateParams{Group: "nobody"}, "group", "unknown group"},
		"taken":      {keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "taken"}}, "name", taken.ID + " has it"},
		"twice":      {ok, "name", "another key of the import"},
		"taken, dry": {keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "taken"}}, "name", taken.ID},
	} {
		made, err := s.Import(t.Context(), []keys.CreateParams{ok, c.wrong, {Group: "worse"}}, strings.HasSuffix(name, "dry"))
		invalid, is := errors.AsType[*keys.InvalidError](err)
		if !is || made != nil || invalid.Index != 1 || invalid.Fields[0].Field != c.field || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, %v", name, made, err)
		}
	}
	if len(m.keys) != 2 || len(m.entries) != 3 {
		t.Errorf("%d keys and %d entries are stored", len(m.keys), len(m.entries))
	}
}
