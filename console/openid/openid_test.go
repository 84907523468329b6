package openid_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/genway/genway/console/openid"
	"github.com/genway/genway/test/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const redirect = "http://127.0.0.1:8088/sign-in/oidc"

// world is a client and its identity provider.
type world struct {
	*openid.Provider
	at    *identity.Provider
	ahead atomic.Int64 // the client's clock
}

func start(t *testing.T, change func(*openid.Config)) *world {
	t.Helper()
	w := &world{at: identity.Start("genway", "s3cret/+ %")}
	w.at.RedirectURL = redirect
	w.at.Claims = map[string]any{"groups": []string{"admins"}, "email": "a@example.com", "email_verified": true}
	calls := &http.Transport{}
	config := openid.Config{
		Issuer: w.at.URL, ClientID: "genway", Secret: func() (string, error) { return w.at.Secret, nil }, RedirectURL: redirect,
		AdminGroups: []string{"admins", "root"}, ViewerGroups: []string{"staff"}, Transport: calls,
		Clock: func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) },
	}
	if change != nil {
		change(&config)
	}
	w.Provider = openid.New(config)
	t.Cleanup(func() {
		calls.CloseIdleConnections()
		w.at.Close()
	})
	return w
}

// begin returns an attempt, and what the browser brings back.
func (w *world) begin(t *testing.T) (openid.Attempt, url.Values) {
	t.Helper()
	address, attempt, err := w.Begin(t.Context(), "/keys")
	if err != nil {
		t.Fatal(err)
	}
	return attempt, back(t, address)
}

// back goes to the identity provider as a browser does.
func back(t *testing.T, address string) url.Values {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
	if got := to.Scheme + "://" + to.Host + to.Path; got != redirect {
		t.Fatalf("it leads to %s", got)
	}
	return to.Query()
}

func (w *world) sign(t *testing.T) (openid.Identity, error) {
	t.Helper()
	attempt, query := w.begin(t)
	return w.Finish(t.Context(), attempt, query)
}

// Case X66: who an issuer vouches for signs in by their groups, once, by each way to authenticate.
func TestSignIn(t *testing.T) {
	for _, methods := range [][]string{nil, {"client_secret_basic"}, {"client_secret_post"}, {"none"}} {
		for _, algorithm := range []string{"", "RS256"} {
			w := start(t, func(c *openid.Config) {
				if len(methods) > 0 && methods[0] == "none" {
					c.Secret = nil
				}
			})
			w.at.Methods, w.at.Algorithm, w.at.Names = methods, algorithm, true
			attempt, query := w.begin(t)
			parsed, err := openid.ParseAttempt(attempt.Text())
			if err != nil || parsed.To != "/keys" {
				t.Fatalf("%q: %v", parsed.To, err)
			}
			who, err := w.Finish(t.Context(), parsed, query)
			if want := (openid.Identity{Subject: "u-1", Email: "a@example.com"}); err != nil || who != want {
				t.Errorf("%v %s: %+v, %v", methods, algorithm, who, err)
			}
			if _, err := w.Finish(t.Context(), parsed, query); !refused(err, "(invalid_grant)") {
				t.Errorf("%v %s: again: %v", methods, algorithm, err)
			}
		}
	}
}

// refused reports whether somebody is told that.
func refused(err error, what string) bool {
	told, ok := errors.AsType[*openid.RefusedError](err)
	return ok && strings.Contains(told.Text, what) && !strings.Contains(told.Text, "<")
}

// Groups decide who may do what.
func TestGroups(t *testing.T) {
	for name, c := range map[string]struct {
		claims map[string]any
		role   string // viewer, admin, nobody or invalid
	}{
		"an admin":             {map[string]any{"groups": []string{"x", "root"}}, "admin"},
		"a text":               {map[string]any{"groups": "staff"}, "viewer"},
		"both":                 {map[string]any{"groups": []string{"staff", "admins"}}, "admin"},
		"none":                 {map[string]any{"groups": []string{}}, "nobody"},
		"without the claim":    {map[string]any{"groups": nil}, "nobody"},
		"null":                 {map[string]any{"groups": []any(nil)}, "nobody"},
		"another case":         {map[string]any{"groups": []string{"Admins", " admins", "admins "}}, "nobody"},
		"a part":               {map[string]any{"groups": "admins,staff"}, "nobody"},
		"another claim":        {map[string]any{"groups": nil, "roles": []string{"admins"}}, "nobody"},
		"numbers":              {map[string]any{"groups": []any{1}}, "invalid"},
		"deep":                 {map[string]any{"groups": []any{[]string{"admins"}}}, "invalid"},
		"an object":            {map[string]any{"groups": map[string]any{"admins": true}}, "invalid"},
		"true":                 {map[string]any{"groups": true}, "invalid"},
		"many":                 {map[string]any{"groups": append(make([]string, 20_000), "staff")}, "viewer"},
		"an e-mail of anybody": {map[string]any{"groups": "staff", "email_verified": "true"}, "viewer"},
	} {
		w := start(t, nil)
		w.at.Claims = c.claims
		who, err := w.sign(t)
		if who.Email != "" {
			t.Errorf("%s: e-mail %q", name, who.Email)
		}
		switch {
		case c.role == "admin" && err == nil && !who.ReadOnly, c.role == "viewer" && err == nil && who.ReadOnly:
		case c.role == "nobody" && refused(err, "You are in no group"):
		case c.role == "invalid" && refused(err, "token is not valid"):
		default:
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	for name, c := range map[string]struct {
		groups []string
		reads  bool
	}{
		"a viewer who reads": {[]string{"staff", "debuggers"}, true}, "an admin who reads": {[]string{"admins", "debuggers"}, true}, "by a role's group": {[]string{"root"}, true},
		"a viewer": {[]string{"staff"}, false}, "an admin": {[]string{"admins"}, false}, "another case": {[]string{"staff", "Debuggers"}, false},
	} {
		w := start(t, func(c *openid.Config) { c.CaptureGroups = []string{"debuggers", "root"} })
		w.at.Claims = map[string]any{"groups": c.groups}
		if who, err := w.sign(t); err != nil || who.ReadCaptures != c.reads {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	w := start(t, func(c *openid.Config) { c.CaptureGroups = []string{"debuggers"} })
	w.at.Claims = map[string]any{"groups": "debuggers"}
	if who, err := w.sign(t); !refused(err, "You are in no group") || who.ReadCaptures {
		t.Errorf("a group of readers alone: %+v, %v", who, err)
	}
	w = start(t, func(c *openid.Config) { c.GroupsClaim = "https://example.com/roles"; c.AdminGroups = nil })
	w.at.Claims = map[string]any{"https://example.com/roles": []string{"admins", "staff"}, "groups": "admins"}
	if who, err := w.sign(t); err != nil || !who.ReadOnly {
		t.Errorf("a claim of another name: %+v, %v", who, err)
	}
}

// Case X67: tokens that are another's, too old, or not signed by the issuer's keys sign no user in.
func TestForgedTokens(t *testing.T) {
	hour := time.Now().Add(time.Hour).Unix()
	for name, change := range map[string]func(*identity.Provider){
		"expired":                   func(p *identity.Provider) { p.Claims["exp"] = time.Now().Add(-time.Second).Unix() },
		"without an end":            func(p *identity.Provider) { p.Claims["exp"] = nil },
		"not yet valid":             func(p *identity.Provider) { p.Claims["nbf"] = hour },
		"another audience":          func(p *identity.Provider) { p.Claims["aud"] = "other" },
		"no audience":               func(p *identity.Provider) { p.Claims["aud"] = nil },
		"two audiences":             func(p *identity.Provider) { p.Claims["aud"] = []string{"genway", "other"} },
		"for another party":         func(p *identity.Provider) { p.Claims["azp"] = "other" },
		"a party that is no text":   func(p *identity.Provider) { p.Claims["azp"] = 7 },
		"another issuer":            func(p *identity.Provider) { p.Claims["iss"] = "https://evil.example" },
		"an issuer with a slash":    func(p *identity.Provider) { p.Claims["iss"] = p.URL + "/" },
		"no issuer":                 func(p *identity.Provider) { p.Claims["iss"] = nil },
		"another nonce":             func(p *identity.Provider) { p.Claims["nonce"] = "x" },
		"no nonce":                  func(p *identity.Provider) { p.Claims["nonce"] = nil },
		"another access token":      func(p *identity.Provider) { p.Claims["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" },
		"no subject":                func(p *identity.Provider) { p.Claims["sub"] = nil },
		"an empty subject":          func(p *identity.Provider) { p.Claims["sub"] = "" },
		"a long subject":            func(p *identity.Provider) { p.Claims["sub"] = strings.Repeat("a", 256) },
		"a subject with a line":     func(p *identity.Provider) { p.Claims["sub"] = "a\nb" },
		"a subject beyond ASCII":    func(p *identity.Provider) { p.Claims["sub"] = "ä" },
		"a number as subject":       func(p *identity.Provider) { p.Claims["sub"] = 7 },
		"alg none":                  func(p *identity.Provider) { p.Algorithm = "none" },
		"HS256 with the secret":     func(p *identity.Provider) { p.Algorithm = "HS256" },
		"HS256 with the public key": func(p *identity.Provider) { p.Algorithm = "public" },
		"a changed signature":       func(p *identity.Provider) { p.Token = func(s string) string { return s[:len(s)-8] + "AAAAAAAA" } },
		"no signature":              func(p *identity.Provider) { p.Token = func(s string) string { return s[:strings.LastIndex(s, ".")+1] } },
		"changed claims": func(p *identity.Provider) {
			p.Token = func(s string) string { return strings.Replace(s, ".e", ".f", 1) }
		},
		"empty": func(p *identity.Provider) { p.Token = func(string) string { return "" } },
		"noise": func(p *identity.Provider) { p.Token = func(string) string { return "a.b.c" } },
		"huge":  func(p *identity.Provider) { p.Claims["x"] = strings.Repeat("a", 2<<20) },
	} {
		w := start(t, nil)
		w.at.Set(change)
		who, err := w.sign(t)
		if err == nil || who != (openid.Identity{}) {
			t.Errorf("%s: it signs in as %+v", name, who)
			continue
		}
		if text := err.Error(); name != "huge" && !refused(err, "token is not valid") || strings.Contains(text, "s3cret") || strings.Contains(text, "eyJ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := start(t, nil)
	good.at.Claims["aud"], good.at.Claims["azp"] = []string{"other", "genway"}, "genway"
	if _, err := good.sign(t); err != nil {
		t.Errorf("two audiences for this party: %v", err)
	}
}

// Answers that a browser brings are this browser's, of this issuer, once.
func TestAnswers(t *testing.T) {
	w := start(t, nil)
	for name, c := range map[string]struct {
		change func(url.Values)
		text   string
	}{
		"another state":    {func(q url.Values) { q.Set("state", "x") }, "began elsewhere"},
		"no state":         {func(q url.Values) { q.Del("state") }, "began elsewhere"},
		"two states":       {func(q url.Values) { q.Add("state", "x") }, "not valid"},
		"two codes":        {func(q url.Values) { q.Add("code", "x") }, "not valid"},
		"no code":          {func(q url.Values) { q.Del("code") }, "no code"},
		"another code":     {func(q url.Values) { q.Set("code", "x\x00<b>") }, "(invalid_grant)"},
		"a refusal":        {func(q url.Values) { q.Set("error", "access_denied") }, "(access_denied)"},
		"a refusal's text": {func(q url.Values) { q.Set("error", "<script>"); q.Set("error_description", "gwk_") }, "refused the sign-in."},
		"another issuer":   {func(q url.Values) { q.Set("iss", "https://evil.example") }, "another identity provider's"},
	} {
		attempt, query := w.begin(t)
		c.change(query)
		if _, err := w.Finish(t.Context(), attempt, query); !refused(err, c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	one, _ := w.begin(t)
	_, other := w.begin(t)
	if _, err := w.Finish(t.Context(), one, other); !refused(err, "began elsewhere") {
		t.Errorf("another browser's answer: %v", err)
	}
	old, query := w.begin(t)
	w.ahead.Store(int64(openid.MaxAge + time.Minute))
	if _, err := w.Finish(t.Context(), old, query); !refused(err, "ten minutes") {
		t.Errorf("an old attempt: %v", err)
	}
	w.ahead.Store(-int64(50 * time.Second))
	early, answer := w.begin(t)
	w.ahead.Store(-int64(100 * time.Second))
	if _, err := w.Finish(t.Context(), early, answer); err != nil {
		t.Errorf("an attempt that began at a console whose clock is 50 s ahead: %v", err)
	}
	w.ahead.Store(-int64(time.Hour))
	if _, err := w.Finish(t.Context(), old, query); !refused(err, "ten minutes") {
		t.Errorf("an attempt of the future: %v", err)
	}
	w.ahead.Store(0)
	parts := strings.Split(old.Text(), ".")
	for _, text := range []string{"", "..", "a.b.c", parts[0] + ".0." + parts[2], parts[0] + "." + parts[1] + ".Lw", strings.Repeat("A", 43) + "." + parts[1] + "." + parts[2], parts[0] + ".9223372036854775807." + parts[2], parts[0] + ".-1.", old.Text() + ".x", parts[0][1:] + "." + parts[1] + "." + parts[2]} {
		attempt, err := openid.ParseAttempt(text)
		if err != nil {
			continue
		}
		if _, err := w.Finish(t.Context(), attempt, query); !refused(err, "began elsewhere") {
			t.Errorf("%q: %v", text, err)
		}
	}
	named := start(t, nil)
	named.at.Names, named.at.Named = true, ""
	attempt, query := named.begin(t)
	query.Del("iss")
	if _, err := named.Finish(t.Context(), attempt, query); !refused(err, "another identity provider's") {
		t.Errorf("an issuer that names itself, and does not: %v", err)
	}
}
