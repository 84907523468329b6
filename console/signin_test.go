package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/keys"
)

// Case X55: an admin key and a link sign in, a link once; other keys and noise do not.
func TestSignIn(t *testing.T) {
	f := open(t)
	chat, _, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat})
	if err != nil {
		t.Fatal(err)
	}
	link, err := f.keys.StartSession(t.Context(), keys.SessionParams{Link: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, key string
		code      int
	}{
		{"an admin key", f.root, http.StatusSeeOther},
		{"with spaces around it", " \t" + f.root + "\n", http.StatusSeeOther},
		{"a whole link", "http://127.0.0.1:8088/sign-in#" + link.Raw, http.StatusSeeOther},
		{"the same link", link.Raw, http.StatusForbidden},
		{"a key of another group", chat, http.StatusForbidden},
		{"nothing", "", http.StatusForbidden},
		{"noise", "\x00\xff\r\nx: y", http.StatusForbidden},
		{"much", strings.Repeat("a", 100_000), http.StatusForbidden},
	} {
		got := f.post(t, "", "/sign-in", url.Values{"key": {c.key}, "to": {"/keys?owner=a"}})
		if got.code != c.code {
			t.Errorf("%s: %d", c.name, got.code)
			continue
		}
		if c.code != http.StatusSeeOther {
			if len(got.header["Set-Cookie"]) > 0 {
				t.Errorf("%s: it gets a cookie", c.name)
			}
			continue
		}
		cookie := cookieOf(t, got)
		if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge != 1800 || cookie.Name != "__Host-genway" {
			t.Errorf("%s: the cookie is %s", c.name, cookie)
		}
		if to := got.header.Get("Location"); to != "/keys?owner=a" {
			t.Errorf("%s: it leads to %s", c.name, to)
		}
		if page := f.get(t, cookie.Value, "/keys"); page.code != http.StatusOK {
			t.Errorf("%s: the session gets %d", c.name, page.code)
		}
	}
}

// A sign-in leads nowhere but into the console.
func TestSignInLeadsInside(t *testing.T) {
	f := open(t)
	for _, to := range []string{"//evil.example", "https://evil.example/", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "///evil.example", "/\t/evil.example", "/sign-in", "/sign-in/start?to=/", "/sign-in/oidc?code=x", "", "%2f%2fevil.example", "x"} {
		got := f.post(t, "", "/sign-in", url.Values{"key": {f.root}, "to": {to}})
		if where := got.header.Get("Location"); where != "/" {
			t.Errorf("%q leads to %q", to, where)
		}
	}
}

// Without a session pages lead to the sign-in, and what would change something is refused.
func TestNobody(t *testing.T) {
	f := open(t)
	ended := f.signIn(t, f.root)
	if got := f.post(t, ended, "/sign-out", nil); got.code != http.StatusSeeOther || cookieOf(t, got).MaxAge >= 0 {
		t.Fatalf("sign-out: %d %v", got.code, got.header)
	}
	for _, session := range []string{"", "gwk_nobody", ended, f.root + "x"} {
		if got := f.get(t, session, "/usage?by=key"); got.code != http.StatusSeeOther || got.header.Get("Location") != "/sign-in?to=%2Fusage%3Fby%3Dkey" {
			t.Errorf("%q: %d %v", session, got.code, got.header)
		}
		if got := f.post(t, session, "/keys", url.Values{"group": {"chat"}}); got.code != http.StatusUnauthorized {
			t.Errorf("%q: %d", session, got.code)
		}
	}
}

// A session ends after half an hour without use, for good, and not while it is used.
func TestIdle(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	for range 4 {
		f.ahead.Add(int64(29 * time.Minute))
		if got := f.get(t, session, "/keys"); got.code != http.StatusOK || cookieOf(t, got).MaxAge != 1800 {
			t.Fatalf("in use: %d", got.code)
		}
	}
	f.ahead.Add(int64(31 * time.Minute))
	if got := f.get(t, session, "/keys"); got.code != http.StatusSeeOther {
		t.Errorf("idle: %d", got.code)
	}
	f.ahead.Store(0)
	if got := f.get(t, session, "/keys"); got.code != http.StatusSeeOther {
		t.Errorf("an idle session came back: %d", got.code)
	}
	if _, err := f.keys.Authenticate(t.Context(), session); err == nil {
		t.Error("the key of an idle session is good")
	}
}

// Sign-ins that fail are bounded for each address, and do not keep others out.
func TestSignInsAreBounded(t *testing.T) {
	f := open(t)
	try := func(from, key string) int {
		r := request(t, "", http.MethodPost, "/sign-in", url.Values{"key": {key}})
		r.RemoteAddr = from
		return f.do(r).code
	}
	for i := range 10 {
		if code := try("192.0.2.1:1", "wrong"); code != http.StatusForbidden {
			t.Fatalf("attempt %d: %d", i, code)
		}
	}
	if code := try("192.0.2.1:2", f.root); code != http.StatusTooManyRequests {
		t.Errorf("the eleventh: %d", code)
	}
	for _, from := range []string{"192.0.2.2:1", "[2001:db8::1]:1", "@"} {
		if code := try(from, f.root); code != http.StatusSeeOther {
			t.Errorf("from %s: %d", from, code)
		}
	}
	f.ahead.Add(int64(7 * time.Second))
	if code := try("192.0.2.1:3", f.root); code != http.StatusSeeOther {
		t.Errorf("a while later: %d", code)
	}
	for range 10 {
		try("[2001:db8::1]:1", "wrong")
	}
	if code := try("[2001:db8::ffff]:1", f.root); code != http.StatusTooManyRequests {
		t.Errorf("of the same /64: %d", code)
	}
}
