package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/genway/genway/console/openid"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// CallbackPath is where an identity provider sends browsers back to.
const CallbackPath = "/sign-in/oidc"

// attemptCookie keeps what is secret of a sign-in at an identity provider.
const attemptCookie = "__Host-genway-sign-in"

// maxReturn bounds the address that a sign-in leads to, in bytes. Browsers drop cookies of more than
// 4096 bytes, and base64 makes it a third longer.
const maxReturn = 2500

// provider returns the identity provider in force; nil for none.
func (c *Console) provider() *openid.Provider {
	if c.config.OpenID == nil {
		return nil
	}
	return c.config.OpenID()
}

// attempting returns the cookie of an attempt, or removes it. It is Lax, since the browser comes back
// from another site.
func attempting(text string) *http.Cookie {
	age := int(openid.MaxAge.Seconds())
	if text == "" {
		age = -1
	}
	return &http.Cookie{Name: attemptCookie, Value: text, Path: "/", MaxAge: age, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

// beginOpenID sends the browser to the identity provider.
func (c *Console) beginOpenID(w http.ResponseWriter, r *http.Request) {
	provider, to := c.provider(), inside(r.FormValue("to"))
	if provider == nil {
		c.signInPage(w, r, http.StatusNotFound, to, "There is no identity provider.")
		return
	}
	// The cookie comes back to this host alone.
	if back, err := url.Parse(provider.RedirectURL()); err == nil && back.Host != r.Host && r.FormValue("moved") == "" {
		back.Path, back.RawQuery = r.URL.Path, url.Values{"to": {to}, "moved": {"1"}}.Encode()
		http.Redirect(w, r, back.String(), http.StatusSeeOther)
		return
	}
	if len(to) > maxReturn {
		to = "/"
	}
	address, attempt, err := provider.Begin(r.Context(), to)
	if err != nil {
		c.refuse(w, r, to, err)
		return
	}
	http.SetCookie(w, attempting(attempt.Text()))
	http.Redirect(w, r, address, http.StatusSeeOther) //nolint:gosec // the provider's own address, which the operator configures
}

// endOpenID makes a session of what the browser has brought back.
func (c *Console) endOpenID(w http.ResponseWriter, r *http.Request) {
	from := placeOf(addressOf(r))
	provider := c.provider()
	if provider == nil {
		c.signInPage(w, r, http.StatusNotFound, "/", "There is no identity provider.")
		return
	}
	http.SetCookie(w, attempting(""))
	if !c.answers.admits(from) {
		w.Header().Set("Retry-After", "60")
		c.signInPage(w, r, http.StatusTooManyRequests, "/", tooManySignIns)
		return
	}
	attempt, err := c.attempt(r)
	to := inside(attempt.To)
	var who openid.Identity
	if err == nil {
		who, err = provider.Finish(r.Context(), attempt, r.URL.Query())
	}
	if err != nil {
		c.answers.count(from)
		c.refuse(w, r, to, err)
		return
	}
	raw, err := c.config.StartSession(r.Context(), who)
	if err != nil {
		(&call{console: c, w: w, r: r, ctx: r.Context()}).fail(err)
		return
	}
	got, err := c.admin.GetSession(showing(r, raw), &adminv1.GetSessionRequest{}) //nolint:contextcheck // it is the request's
	if err != nil {
		(&call{console: c, w: w, r: r, ctx: r.Context()}).fail(err)
		return
	}
	c.sessions.note(raw, got.GetKey())
	c.config.Logger.Info("somebody signed in to the console by the identity provider", "subject", who.Subject, "key_id", got.GetKey().GetId())
	http.SetCookie(w, cookie(raw))
	// A redirect would still be a step of the other site's, which a Strict cookie is not sent with.
	w.Header().Set("Refresh", "0; url="+to)
	(&call{console: c, w: w, r: r, ctx: r.Context()}).show(http.StatusOK, "signedin.html", "Signed in", to)
}

// attempt returns the attempt of the browser's cookie, once.
func (c *Console) attempt(r *http.Request) (openid.Attempt, error) {
	elsewhere := &openid.RefusedError{Text: "This sign-in did not begin in this browser, or it was finished. Sign in again."}
	shown, err := r.Cookie(attemptCookie)
	if err != nil {
		return openid.Attempt{}, elsewhere
	}
	attempt, err := openid.ParseAttempt(shown.Value)
	if err != nil {
		return openid.Attempt{}, elsewhere
	}
	if err := attempt.Check(c.config.Clock()); err != nil {
		return openid.Attempt{}, err //nolint:wrapcheck // it is in words for a person
	}
	if !c.attempts.use(attempt.ID(), attempt.Ends()) {
		return openid.Attempt{}, elsewhere
	}
	return attempt, nil
}

// maxLogged bounds what a log line has of an error of the identity provider, in bytes.
const maxLogged = 500

// refuse shows the sign-in with what went wrong; the log has the cause.
func (c *Console) refuse(w http.ResponseWriter, r *http.Request, to string, err error) {
	code, wrong := http.StatusServiceUnavailable, "The identity provider does not answer. Keys and links sign in as before."
	if refused, ok := errors.AsType[*openid.RefusedError](err); ok {
		code, wrong = http.StatusForbidden, refused.Text
	}
	text := err.Error()
	c.config.Logger.Warn("a sign-in by the identity provider failed", "error", text[:min(len(text), maxLogged)])
	c.signInPage(w, r, code, to, wrong)
}
