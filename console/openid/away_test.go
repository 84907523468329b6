package openid_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/console/openid"
	"github.com/genway/genway/test/identity"
)

func away(err error) bool {
	_, ok := errors.AsType[*openid.UnavailableError](err)
	return ok
}

// An identity provider that does not answer, or with nonsense, signs no user in and is asked again
// later. What it answers stays out of errors for people, and its redirects are not followed.
func TestAway(t *testing.T) {
	const discovery = "/.well-known/openid-configuration"
	for _, path := range []string{discovery, "/token", "/keys"} {
		for _, code := range []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusTemporaryRedirect} {
			w := start(t, nil)
			w.at.Away = map[string]int{path: code}
			if path == discovery {
				for range 3 {
					if _, _, err := w.Begin(t.Context(), "/"); !away(err) {
						t.Errorf("%s %d: %v", path, code, err)
					}
				}
				if n := w.at.Calls(path); n != 1 {
					t.Errorf("%d: it was asked %d times at once", code, n)
				}
				w.ahead.Store(int64(4 * time.Second))
			} else {
				_, err := w.sign(t)
				if code == http.StatusTemporaryRedirect && path == "/token" {
					if !refused(err, "refused the sign-in.") {
						t.Errorf("%s %d: %v", path, code, err)
					}
				} else if !away(err) {
					t.Errorf("%s %d: %v", path, code, err)
				}
				if path == "/token" && strings.Contains(err.Error(), "secret of the provider") {
					t.Errorf("%v", err)
				}
			}
			if n := w.at.Calls("/elsewhere"); n != 0 {
				t.Errorf("%s: it followed a redirect", path)
			}
			w.at.Set(func(p *identity.Provider) { p.Away = nil })
			if _, err := w.sign(t); err != nil {
				t.Errorf("%s %d: it is back: %v", path, code, err)
			}
		}
	}
	gone := start(t, nil)
	gone.at.Close()
	if _, _, err := gone.Begin(t.Context(), "/"); !away(err) {
		t.Errorf("nobody listens: %v", err)
	}
	lost := start(t, func(c *openid.Config) {
		c.Secret = func() (string, error) { return "", errors.New("no such file") }
	})
	if _, err := lost.sign(t); !away(err) {
		t.Errorf("a secret that cannot be read: %v", err)
	}
}

// Secrets are never sent in cleartext, even if a discovery document names such an address.
func TestCleartext(t *testing.T) {
	for _, endpoint := range []string{"http://192.0.2.1/token", "ftp://127.0.0.1/", "/token", "http:///token", "https:opaque", "http://localhost.evil.example/", "http://127.evil.example/", "http://127.0.0.1.evil.example/", "http://[::1].evil/", "::"} {
		w := start(t, nil)
		w.at.Endpoint = endpoint
		if _, _, err := w.Begin(t.Context(), "/"); !away(err) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	other := start(t, func(c *openid.Config) { c.Issuer += "/" })
	if _, _, err := other.Begin(t.Context(), "/"); !away(err) {
		t.Errorf("a document of another issuer: %v", err)
	}
}

// A new key of the issuer's signs in at once; a withdrawn one does not, an hour later at most.
func TestKeyRotation(t *testing.T) {
	w := start(t, nil)
	if _, err := w.sign(t); err != nil {
		t.Fatal(err)
	}
	var stolen string
	w.at.Set(func(p *identity.Provider) { p.Token = func(s string) string { stolen = s; return s } })
	old, query := w.begin(t)
	if _, err := w.Finish(t.Context(), old, query); err != nil {
		t.Fatal(err)
	}
	w.at.Rotate()
	w.at.Set(func(p *identity.Provider) { p.Token = nil })
	if _, err := w.sign(t); err != nil {
		t.Errorf("a new key: %v", err)
	}
	if n := w.at.Calls("/keys"); n != 2 {
		t.Errorf("the keys were asked for %d times", n)
	}
	w.at.Set(func(p *identity.Provider) { p.Token = func(string) string { return stolen } })
	if _, err := w.sign(t); !refused(err, "token is not valid") {
		t.Errorf("a token of the old key: %v", err)
	}
	before := w.at.Calls("/.well-known/openid-configuration")
	w.ahead.Store(int64(61 * time.Minute))
	if _, _, err := w.Begin(t.Context(), "/"); err != nil || w.at.Calls("/.well-known/openid-configuration") != before+1 {
		t.Errorf("an hour later it is not asked: %v", err)
	}
}

// Many sign-ins at once ask for one discovery.
func TestOneDiscovery(t *testing.T) {
	w := start(t, nil)
	done := make(chan error, 20)
	for range cap(done) {
		go func() {
			_, _, err := w.Begin(t.Context(), "/")
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := w.at.Calls("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

// timed notes calls without a deadline.
type timed struct {
	http.RoundTripper
	calls, endless int
}

func (d *timed) RoundTrip(r *http.Request) (*http.Response, error) {
	d.calls++
	if end, ok := r.Context().Deadline(); !ok || time.Until(end) > 10*time.Second {
		d.endless++
	}
	return d.RoundTripper.RoundTrip(r)
}

// Each call of the identity provider has a deadline.
func TestDeadlines(t *testing.T) {
	seen := &timed{}
	w := start(t, func(c *openid.Config) { seen.RoundTripper, c.Transport = c.Transport, seen })
	if _, err := w.sign(t); err != nil {
		t.Fatal(err)
	}
	if seen.calls != 3 || seen.endless != 0 {
		t.Errorf("%d calls, %d without a deadline", seen.calls, seen.endless)
	}
}
