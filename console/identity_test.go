package console_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/console/openid"
	"github.com/genway/genway/test/identity"
)

// vouch opens a console with an identity provider.
func vouch(t *testing.T) (*fixture, *identity.Provider) {
	t.Helper()
	f, at := open(t), identity.Start("genway", "s3cret")
	at.RedirectURL = "http://127.0.0.1:8088/sign-in/oidc"
	at.Claims = map[string]any{"groups": []string{"admins"}, "email": "a@example.com", "email_verified": true}
	calls := &http.Transport{}
	f.provider.Store(openid.New(openid.Config{
		Issuer: at.URL, ClientID: "genway", Secret: func() (string, error) { return "s3cret", nil }, RedirectURL: at.RedirectURL,
		AdminGroups: []string{"admins"}, ViewerGroups: []string{"staff"}, CaptureGroups: []string{"debuggers"}, Transport: calls,
	}))
	t.Cleanup(func() {
		calls.CloseIdleConnections()
		at.Close()
	})
	return f, at
}

// begin starts a sign-in and goes to the identity provider: it returns the cookie that the browser
// keeps, and the address that it comes back to.
func (f *fixture) begin(t *testing.T, to string) (attempt *http.Cookie, back string) {
	t.Helper()
	got := f.get(t, "", "/sign-in/start?to="+url.QueryEscape(to))
	if got.code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.code, got.body)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, got.header.Get("Location"), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	where, err := resp.Location()
	if err != nil {
		t.Fatal(resp.StatusCode, err)
	}
	return cookieOf(t, got), where.RequestURI()
}

// come comes back from the identity provider.
func (f *fixture) come(t *testing.T, attempt *http.Cookie, back string) answer {
	t.Helper()
	r := request(t, "", http.MethodGet, back, nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if attempt != nil {
		r.AddCookie(&http.Cookie{Name: attempt.Name, Value: attempt.Value})
	}
	return f.do(r)
}

// sessionOf returns the session's cookie of an answer, and demands that the attempt's is removed.
func sessionOf(t *testing.T, got answer) (session *http.Cookie) {
	t.Helper()
	removed := false
	for _, c := range (&http.Response{Header: got.header}).Cookies() {
		switch {
		case c.Name == "__Host-genway":
			session = c
		case c.Name == "__Host-genway-sign-in" && c.MaxAge < 0 && c.Value == "":
			removed = true
		default:
			t.Errorf("cookie %s", c)
		}
	}
	if !removed {
		t.Error("the attempt's cookie stays")
	}
	return session
}

// Case X68: who an identity provider vouches for gets a session as any other, by the groups, and the
// audit has the subject.
func TestSignInByAnIdentityProvider(t *testing.T) {
	f, at := vouch(t)
	if page := f.get(t, "", "/sign-in?to=/keys"); !strings.Contains(page.body, `href="/sign-in/start?to=%2fkeys"`) {
		t.Errorf("%s", page.body)
	}
	cookie, back := f.begin(t, "/keys?owner=a")
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge != 600 || cookie.Name != "__Host-genway-sign-in" {
		t.Errorf("the attempt's cookie is %s", cookie)
	}
	got := f.come(t, cookie, back)
	session := sessionOf(t, got)
	if got.code != http.StatusOK || session == nil || got.header.Get("Refresh") != "0; url=/keys?owner=a" || !strings.Contains(got.body, `href="/keys?owner=a"`) {
		t.Fatalf("%d %v %s", got.code, got.header, got.body)
	}
	if !session.HttpOnly || !session.Secure || session.SameSite != http.SameSiteStrictMode || session.MaxAge != 1800 {
		t.Errorf("the session's cookie is %s", session)
	}
	who, err := f.keys.Authenticate(t.Context(), session.Value)
	if err != nil {
		t.Fatal(err)
	}
	key, err := f.keys.Get(t.Context(), who.KeyID)
	if err != nil || key.Owner != "a@example.com" || key.Labels["console.subject"] != "u-1" || time.Until(*key.ExpireTime) > 12*time.Hour {
		t.Errorf("%+v %v", key, err)
	}
	if list := f.get(t, session.Value, "/sessions").body; !strings.Contains(list, "<td>u-1</td>") || !strings.Contains(list, who.KeyID) {
		t.Errorf("%s", list)
	}
	if record := f.get(t, session.Value, "/audit?subject="+who.KeyID).body; !strings.Contains(record, "oidc:u-1") {
		t.Errorf("%s", record)
	}
	if got := f.post(t, session.Value, "/keys", url.Values{"group": {"chat"}}); got.code != http.StatusOK {
		t.Errorf("an admin makes a key: %d", got.code)
	}
	if again := f.come(t, cookie, back); again.code != http.StatusForbidden || sessionOf(t, again) != nil {
		t.Errorf("the same answer once more: %d", again.code)
	}
	if n := at.Calls("/token"); n != 1 {
		t.Errorf("the code was shown %d times", n)
	}
	at.Set(func(p *identity.Provider) { p.Claims["groups"] = "staff" })
	cookie, back = f.begin(t, "//evil.example")
	got = f.come(t, cookie, back)
	if to := got.header.Get("Refresh"); to != "0; url=/" {
		t.Errorf("it leads to %s", to)
	}
	if got := f.post(t, sessionOf(t, got).Value, "/keys", url.Values{"group": {"chat"}}); got.code != http.StatusForbidden {
		t.Errorf("a viewer makes a key: %d", got.code)
	}
}

// Nobody else signs in, what is wrong is said in words, and no text of others is HTML.
func TestRefusedByAnIdentityProvider(t *testing.T) {
	f, at := vouch(t)
	for name, c := range map[string]struct {
		change func(*identity.Provider)
		answer func(cookie *http.Cookie, back string) (*http.Cookie, string)
		code   int
		text   string
	}{
		"no group":         {change: func(p *identity.Provider) { p.Claims["groups"] = "<b>other" }, code: 403, text: "in no group"},
		"a hostile name":   {change: func(p *identity.Provider) { p.Claims["sub"] = "<script>alert(1)</script>"; p.Claims["groups"] = nil }, code: 403, text: "in no group"},
		"without a cookie": {answer: func(_ *http.Cookie, back string) (*http.Cookie, string) { return nil, back }, code: 403, text: "did not begin in this browser"},
		"another's cookie": {answer: func(_ *http.Cookie, back string) (*http.Cookie, string) {
			other, _ := f.begin(t, "/")
			return other, back
		}, code: 403, text: "began elsewhere"},
		"noise": {answer: func(c *http.Cookie, back string) (*http.Cookie, string) {
			return &http.Cookie{Name: c.Name, Value: "a.b.c"}, back
		}, code: 403, text: "did not begin in this browser"},
		"refused there": {answer: func(c *http.Cookie, back string) (*http.Cookie, string) {
			u, _ := url.Parse(back)
			return c, "/sign-in/oidc?" + url.Values{"state": u.Query()["state"], "error": {"access_denied"}, "error_description": {"<script>"}}.Encode()
		}, code: 403, text: "(access_denied)"},
		"away": {change: func(p *identity.Provider) { p.Away = map[string]int{"/token": 500} }, code: 503, text: "does not answer"},
	} {
		at.Set(func(p *identity.Provider) { p.Away, p.Claims = nil, map[string]any{"groups": "admins"} })
		if c.change != nil {
			at.Set(c.change)
		}
		cookie, back := f.begin(t, "/")
		if c.answer != nil {
			cookie, back = c.answer(cookie, back)
		}
		got := f.come(t, cookie, back)
		if got.code != c.code || !strings.Contains(got.body, c.text) || sessionOf(t, got) != nil || !strings.Contains(got.body, `name="key"`) {
			t.Errorf("%s: %d %s", name, got.code, got.body)
		}
		if strings.Contains(got.body, "<b>") || strings.Contains(got.body, "<script>") || strings.Contains(got.body, "s3cret") {
			t.Errorf("%s: %s", name, got.body)
		}
		f.ahead.Add(int64(time.Minute)) // so that the bound of failed sign-ins is not met
	}
	cookie, back := f.begin(t, "/")
	for range 12 {
		f.come(t, nil, back)
	}
	if got := f.come(t, cookie, back); got.code != http.StatusTooManyRequests || sessionOf(t, got) != nil {
		t.Errorf("after many failures: %d", got.code)
	}
}

// While the identity provider does not answer, keys sign in; without one, there is no such page.
func TestWithoutAnIdentityProvider(t *testing.T) {
	f, at := vouch(t)
	at.Close()
	got := f.get(t, "", "/sign-in/start?to=/keys")
	if got.code != http.StatusServiceUnavailable || !strings.Contains(got.body, "does not answer") || !strings.Contains(got.body, `value="/keys"`) || len(got.header["Set-Cookie"]) != 0 {
		t.Errorf("%d %s", got.code, got.body)
	}
	f.signIn(t, f.root)
	f.provider.Store(nil)
	for _, path := range []string{"/sign-in/start", "/sign-in/oidc?code=x&state=y"} {
		if got := f.get(t, "", path); got.code != http.StatusNotFound || len(got.header["Set-Cookie"]) != 0 {
			t.Errorf("%s: %d", path, got.code)
		}
	}
	if page := f.get(t, "", "/sign-in"); strings.Contains(page.body, "/sign-in/start") {
		t.Error("it offers an identity provider")
	}
}

// The redirect URL's host is one of the console's, and sign-ins begin there, since cookies come
// back to it alone.
func TestRedirectHost(t *testing.T) {
	f, at := vouch(t)
	f.provider.Store(openid.New(openid.Config{Issuer: at.URL, ClientID: "genway", RedirectURL: "https://ops.example/sign-in/oidc", AdminGroups: []string{"a"}}))
	got := f.get(t, "", "/sign-in/start?to=/keys")
	if to := got.header.Get("Location"); got.code != http.StatusSeeOther || to != "https://ops.example/sign-in/start?moved=1&to=%2Fkeys" || len(got.header["Set-Cookie"]) != 0 {
		t.Errorf("%d %s", got.code, to)
	}
	r := request(t, "", http.MethodGet, "/sign-in", nil)
	r.Host = "ops.example"
	if got := f.do(r); got.code != http.StatusOK {
		t.Errorf("the redirect URL's host: %d", got.code)
	}
}

// Attempts that somebody makes up are not remembered beyond their time, whatever they say of it.
func TestMadeUpAttempts(t *testing.T) {
	f, _ := vouch(t)
	secret := strings.Repeat("A", 43)
	for _, began := range []int64{0, -1, 1, time.Now().Add(time.Hour).Unix(), time.Now().Add(-11 * time.Minute).Unix(), 1<<53 + 1, 1<<63 - 1, -1 << 63} {
		made := &http.Cookie{Name: "__Host-genway-sign-in", Value: secret + "." + strconv.FormatInt(began, 10) + ".Lw"}
		for range 2 { // the first one did not use it up, since it was never good
			got := f.come(t, made, "/sign-in/oidc?code=x&state=y")
			if got.code != http.StatusForbidden || !strings.Contains(got.body, "ten minutes") || sessionOf(t, got) != nil {
				t.Errorf("%d: %d %s", began, got.code, got.body)
			}
			f.ahead.Add(int64(6 * time.Second)) // so that the bound of failed sign-ins is not met
		}
	}
}

// While the identity provider fails, sign-ins by it are bounded, and keys sign in as before.
func TestKeysDuringAnOutage(t *testing.T) {
	f, at := vouch(t)
	at.Set(func(p *identity.Provider) { p.Away = map[string]int{"/token": 503} })
	var last answer
	for range 12 {
		cookie, back := f.begin(t, "/")
		last = f.come(t, cookie, back)
	}
	if last.code != http.StatusTooManyRequests {
		t.Errorf("the twelfth: %d", last.code)
	}
	if n := at.Calls("/token"); n != 10 {
		t.Errorf("the provider was called %d times", n)
	}
	f.signIn(t, f.root)
}

// A page whose address is longer than a cookie is not returned to; the sign-in works.
func TestLongAddresses(t *testing.T) {
	f, _ := vouch(t)
	for length, want := range map[int]string{1900: "", 3000: "/", 100_000: "/"} {
		to := "/keys?owner=" + strings.Repeat("a", length)
		if want == "" {
			want = to
		}
		cookie, back := f.begin(t, to)
		if n := len(cookie.Name) + len(cookie.Value); n > 4096 {
			t.Errorf("%d: a cookie of %d bytes, which browsers drop", length, n)
		}
		if got := f.come(t, cookie, back).header.Get("Refresh"); got != "0; url="+want {
			t.Errorf("%d: it leads to %.60s", length, got)
		}
	}
}

// Case U25: captured bodies are read by those alone whose groups say so, viewers or admins. Membership of
// such a group alone does not permit a sign-in.
func TestCaptureGroups(t *testing.T) {
	f, at := vouch(t)
	for _, c := range []struct {
		groups []string
		reads  bool
	}{
		{[]string{"staff"}, false}, {[]string{"admins"}, false}, {[]string{"staff", "debuggers"}, true}, {[]string{"admins", "debuggers"}, true},
	} {
		at.Set(func(p *identity.Provider) { p.Claims["groups"] = c.groups })
		cookie, back := f.begin(t, "/")
		session := sessionOf(t, f.come(t, cookie, back)).Value
		who, err := f.keys.Authenticate(t.Context(), session)
		if err != nil || who.Policy.ReadCaptures != c.reads || who.Policy.ReadOnly != (c.groups[0] == "staff") {
			t.Errorf("%v: %+v, %v", c.groups, who.Policy, err)
		}
		if got := f.post(t, session, "/keys", url.Values{"group": {"chat"}}); (got.code == http.StatusOK) != (c.groups[0] == "admins") {
			t.Errorf("%v: a key is made: %d", c.groups, got.code)
		}
	}
	at.Set(func(p *identity.Provider) { p.Claims["groups"] = []string{"debuggers"} })
	cookie, back := f.begin(t, "/")
	if got := f.come(t, cookie, back); got.code != http.StatusForbidden || sessionOf(t, got) != nil {
		t.Errorf("a group of readers alone: %d", got.code)
	}
}
