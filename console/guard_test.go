package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/core/keys"
)

// pages are all pages that a session gets.
var pages = []string{"/usage", "/usage?by=key&period=90d", "/keys", "/keys?all=1", "/keys/new", "/audit", "/sessions", "/connect", "/nothing"}

// Case X56: each answer forbids what it does not need, and no page has a script or a style of its own.
func TestPolicy(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*)>[^<]|\sstyle=|\son[a-z]+=|<style|javascript:|https?://`)
	for _, path := range append(pages, "/sign-in", "/assets/console.css", "/assets/console.js", "/assets/icon.svg", "/assets/", "/assets/../console.go") {
		got := f.get(t, session, path)
		policy := got.header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || !strings.Contains(policy, "require-trusted-types-for 'script'") {
			t.Errorf("%s: %s", path, policy)
		}
		if got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, got.header)
		}
		if !strings.HasPrefix(path, "/assets/") && path != "/connect" {
			if found := inline.FindString(got.body); found != "" {
				t.Errorf("%s has %q", path, found)
			}
		}
	}
	for path, code := range map[string]int{
		"/assets/": 404, "/assets/console.css": 200, "/templates/layout.html": 404, "/assets/nothing.js": 404,
		"/assets/..%2ftemplates/layout.html": 404, "/assets/%2e%2e%2ftemplates%2flayout.html": 404, "/assets/..%2ftemplates": 404, "/assets/..%5ctemplates%5clayout.html": 404,
		"/assets/x%2f..%2fconsole.css": 404, "/assets/.%2fconsole.css": 404, "/assets/%2fconsole.css": 404, "/assets/..%2fassets%2fconsole.css": 404, "/assets/index.html": 404, "/assets/console.css%00": 404,
	} {
		if got := f.get(t, session, path); got.code != code {
			t.Errorf("%s: %d", path, got.code)
		}
	}
}

// Only names of the console's reach it.
func TestHost(t *testing.T) {
	f := open(t)
	for host, want := range map[string]int{
		"127.0.0.1:8088": 200, "localhost:8088": 200, "LOCALHOST": 200, "[::1]:8088": 200, "192.0.2.1": 200, "console.example": 200, "Console.Example.:8088": 200,
		"evil.example": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example:8088": 421, "": 421, "console.example.evil": 421, "a b": 421,
	} {
		r := request(t, "", http.MethodGet, "/sign-in", nil)
		r.Host = host
		if got := f.do(r); got.code != want {
			t.Errorf("%q: %d", host, got.code)
		}
	}
}

// What another site's page makes a browser send changes nothing.
func TestCrossOrigin(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	for name, headers := range map[string]map[string]string{
		"another site":      {"Sec-Fetch-Site": "cross-site"},
		"a sibling":         {"Sec-Fetch-Site": "same-site"},
		"an older browser":  {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
		"an opaque origin":  {"Sec-Fetch-Site": "", "Origin": "null"},
		"another port here": {"Sec-Fetch-Site": "", "Origin": "http://127.0.0.1:9999"},
	} {
		for _, path := range []string{"/keys", "/sign-out", "/sign-in", "/sessions/link"} {
			r := request(t, session, http.MethodPost, path, url.Values{"group": {"chat"}, "key": {f.root}})
			for header, value := range headers {
				r.Header.Set(header, value)
			}
			if got := f.do(r); got.code != http.StatusForbidden || len(got.header["Set-Cookie"]) > 0 {
				t.Errorf("%s, %s: %d", name, path, got.code)
			}
		}
	}
	if n := count(t, f, keys.GroupChat); n != 0 {
		t.Errorf("%d keys were made", n)
	}
}

// A link from another site, with which a browser does not send the session's cookie, leaves the session alone.
func TestLinkFromAnotherSite(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	for _, path := range []string{"/keys", "/", "/usage?by=key", "/requests/live", "/nothing"} {
		r := request(t, "", http.MethodGet, path, nil)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		if got := f.do(r); got.code != http.StatusSeeOther || len(got.header["Set-Cookie"]) > 0 {
			t.Errorf("%s: %d, %v", path, got.code, got.header["Set-Cookie"])
		}
	}
	if got := f.get(t, session, "/keys"); got.code != http.StatusOK {
		t.Errorf("the session gets %d", got.code)
	}
	// A cookie that is no session's any more is removed.
	if got := f.get(t, "gwk_nobody", "/keys"); cookieOf(t, got).MaxAge >= 0 {
		t.Errorf("a cookie of no session stays: %v", got.header)
	}
}

func count(t *testing.T, f *fixture, group keys.Group) (n int) {
	t.Helper()
	for _, err := range f.keys.All(t.Context(), keys.Query{Group: group}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// Case X57: a viewer sees the pages without what changes something, and is refused that.
func TestViewer(t *testing.T) {
	f := open(t)
	_, key, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "kept"}})
	if err != nil {
		t.Fatal(err)
	}
	admin, viewer := f.signIn(t, f.root), f.signIn(t, f.viewer)
	for _, path := range append([]string{"/keys/" + key.ID}, pages...) {
		got := f.get(t, viewer, path)
		if want := f.get(t, admin, path).code; got.code != want {
			t.Errorf("%s: %d, for an admin %d", path, got.code, want)
		}
		for form := range strings.SplitSeq(got.body, `method="post" action="`) {
			if action, _, _ := strings.Cut(form, `"`); strings.HasPrefix(action, "/") && action != "/sign-out" && action != "/audit/verify" && action != "/keys" {
				t.Errorf("%s has a form for %s", path, action)
			}
		}
	}
	for path, form := range map[string]url.Values{
		"/keys":                         {"group": {"chat"}},
		"/connect":                      {"group": {"chat"}, "name": {"x"}},
		"/keys/" + key.ID + "/settings": {"name": {"other"}},
		"/keys/" + key.ID + "/rotate":   {"grace": {"0s"}},
		"/keys/" + key.ID + "/revoke":   {},
	} {
		if got := f.post(t, viewer, path, form); got.code != http.StatusForbidden || strings.Contains(got.body, "gwk_") {
			t.Errorf("%s: %d", path, got.code)
		}
	}
	// A viewer's link is a viewer's, whatever it asks for.
	got := f.post(t, viewer, "/sessions/link", url.Values{"role": {"admin"}})
	_, raw, _ := strings.Cut(got.body, "#gwk_")
	raw, _, _ = strings.Cut(raw, "<")
	of := f.signIn(t, "gwk_"+raw)
	if got := f.post(t, of, "/keys", url.Values{"group": {"chat"}}); got.code != http.StatusForbidden {
		t.Errorf("a viewer's guest makes keys: %d", got.code)
	}
	now, err := f.keys.Get(t.Context(), key.ID)
	if err != nil || now.Name != "kept" || now.RevokeTime != nil || count(t, f, keys.GroupChat) != 1 {
		t.Errorf("the key is %+v, %v", now, err)
	}
}
