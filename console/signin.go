package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/console/openid"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// cookieName is the name of the session's cookie. The prefix has browsers take it from this host
// alone, for all paths and as Secure. They take Secure cookies over plain HTTP from loopback.
const cookieName = "__Host-genway"

// addressKey is the metadata in which the console names its caller's address.
const addressKey = "genway-client"

// cookie returns the cookie of a session; it ends with the idle time, and is renewed with each page.
func cookie(raw string) *http.Cookie {
	age := int(idleTimeout.Seconds())
	if raw == "" {
		age = -1
	}
	return &http.Cookie{Name: cookieName, Value: raw, Path: "/", MaxAge: age, Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// showing returns a context whose calls show the key raw, for a request.
func showing(r *http.Request, raw string) context.Context {
	md := metadata.Pairs("authorization", "Bearer "+raw)
	if at := addressOf(r); at.IsValid() {
		md.Set(addressKey, at.String())
	}
	return metadata.NewOutgoingContext(r.Context(), md)
}

// signedIn lets those through who are signed in, and shows the others the sign-in.
func (c *Console) signedIn(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown, err := r.Cookie(cookieName)
		if err != nil || shown.Value == "" {
			c.askToSignIn(w, r)
			return
		}
		ctx := showing(r, shown.Value)
		key, idle := c.sessions.use(shown.Value)
		if idle {
			c.runs.revoke(ctx, c.admin, shownBy(shown.Value))            //nolint:contextcheck // it is the request's
			_, _ = c.admin.EndSession(ctx, &adminv1.EndSessionRequest{}) //nolint:contextcheck // it is the request's; the session may have ended
			c.sessions.forget(shown.Value)
			c.askToSignIn(w, r)
			return
		}
		if key == nil {
			resp, err := c.admin.GetSession(ctx, &adminv1.GetSessionRequest{}) //nolint:contextcheck // it is the request's
			code := status.Code(err)
			if code == codes.OK && resp.GetKey().GetSettings().GetLabels()[consoleLabel] != sessionLabel {
				code = codes.Unauthenticated // another key of the group admin, which a session's end does not bind
			}
			switch code {
			case codes.OK:
				key = resp.GetKey()
				c.sessions.note(shown.Value, key)
			case codes.Unauthenticated, codes.PermissionDenied, codes.InvalidArgument:
				c.sessions.forget(shown.Value)
				c.askToSignIn(w, r)
				return
			default:
				(&call{console: c, w: w, r: r, ctx: ctx}).fail(err)
				return
			}
		}
		http.SetCookie(w, cookie(shown.Value))
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)) // tests have none
		one := &call{console: c, w: w, r: r, ctx: ctx, raw: shown.Value, session: key, admin: c.admin}
		if err := handle(one); err != nil {
			one.fail(err)
		}
	})
}

// askToSignIn leads to the sign-in, and back to the page afterwards. It removes the cookie that was shown, and no other:
// with a link from another site, browsers do not send a Strict cookie, whose session may be good.
func (c *Console) askToSignIn(w http.ResponseWriter, r *http.Request) {
	if _, err := r.Cookie(cookieName); err == nil {
		http.SetCookie(w, cookie(""))
	}
	if r.Method != http.MethodGet {
		(&call{console: c, w: w, r: r, ctx: r.Context()}).fail(&pageError{http.StatusUnauthorized, "Your session has ended. Sign in again; nothing was changed."})
		return
	}
	http.Redirect(w, r, "/sign-in?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
}

type signInPage struct {
	To, Wrong string
	// Issuer is the host of the identity provider; empty for none.
	Issuer string
}

func (c *Console) showSignIn(w http.ResponseWriter, r *http.Request) {
	c.signInPage(w, r, http.StatusOK, inside(r.FormValue("to")), "")
}

// signInPage shows the sign-in, with what went wrong.
func (c *Console) signInPage(w http.ResponseWriter, r *http.Request, code int, to, wrong string) {
	p := signInPage{To: to, Wrong: wrong}
	if provider := c.provider(); provider != nil {
		if at, err := url.Parse(provider.Issuer()); err == nil {
			p.Issuer = at.Host
		}
	}
	(&call{console: c, w: w, r: r, ctx: r.Context()}).show(code, "signin.html", "Sign in", p)
}

const tooManySignIns = "Too many sign-ins failed from this address. Wait a minute."

// signIn makes a session of an admin key or of a one-time link.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	to := inside(r.PostFormValue("to"))
	from := placeOf(addressOf(r))
	if !c.signIns.admits(from) {
		w.Header().Set("Retry-After", "60")
		c.signInPage(w, r, http.StatusTooManyRequests, to, tooManySignIns)
		return
	}
	raw := strings.TrimSpace(r.PostFormValue("key"))
	if _, pasted, ok := strings.Cut(raw, "#"); ok { // a whole link
		raw = pasted
	}
	if strings.ContainsFunc(raw, func(c rune) bool { return c <= ' ' || c > '~' }) {
		raw = "" // it cannot be shown in metadata, and is no key
	}
	made, err := c.admin.CreateSession(showing(r, raw), &adminv1.CreateSessionRequest{}) //nolint:contextcheck // it is the request's
	if err != nil {
		if code := status.Code(err); code == codes.Unavailable || code == codes.Internal {
			(&call{console: c, w: w, r: r, ctx: r.Context()}).fail(err)
			return
		}
		c.signIns.count(from)
		wrong := status.Convert(err).Message()
		if status.Code(err) == codes.Unauthenticated {
			wrong = "Invalid admin key, or expired link."
		}
		c.signInPage(w, r, http.StatusForbidden, to, wrong)
		return
	}
	c.sessions.note(made.GetRawKey(), made.GetKey())
	http.SetCookie(w, cookie(made.GetRawKey()))
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // inside leaves a path of the console alone
}

func signOut(c *call) error {
	c.console.runs.revoke(c.ctx, c.admin, shownBy(c.raw))
	_, err := c.admin.EndSession(c.ctx, &adminv1.EndSessionRequest{})
	if err != nil && status.Code(err) != codes.Unauthenticated {
		return err
	}
	c.console.sessions.forget(c.raw)
	c.w.Header().Del("Set-Cookie") // that which renews the session
	http.SetCookie(c.w, cookie(""))
	http.Redirect(c.w, c.r, "/sign-in", http.StatusSeeOther)
	return nil
}

// inside returns a path of the console for one that a form or a URL has: never another host.
func inside(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(to, "\\\r\n\t") || u.Path == "/sign-in" || strings.HasPrefix(u.Path, "/sign-in/") {
		return "/"
	}
	return u.RequestURI()
}

// placeOf is what sign-ins are counted by: an IPv4 address, or a /64 of IPv6.
func placeOf(at netip.Addr) netip.Prefix {
	bits := 64
	if at.Is4() {
		bits = 32
	}
	place, _ := at.Prefix(bits)
	return place
}

const (
	// idleTimeout ends an unused session.
	idleTimeout = 30 * time.Minute
	// knownFor is how long what is known of a session is good for showing it. Rights are
	// asked of the Admin service with each call.
	knownFor = 10 * time.Second
	// maxSessions bounds how many sessions are remembered.
	maxSessions = 10_000
)

// sessions remembers when each session was used last, by the hash of its key.
type sessions struct {
	mu    sync.Mutex
	clock func() time.Time
	by    map[[sha256.Size]byte]*seen
}

type seen struct {
	last, asked time.Time
	key         *adminv1.Key
}

// use notes that a session is used. It reports whether it was idle for too long, and returns the
// session's key if that was asked for a moment ago.
func (s *sessions) use(raw string) (key *adminv1.Key, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	known := s.by[sha256.Sum256([]byte(raw))]
	if known == nil {
		return nil, false
	}
	if now.Sub(known.last) > idleTimeout {
		return nil, true
	}
	known.last = now
	if now.Sub(known.asked) > knownFor {
		return nil, false
	}
	return known.key, false
}

// note remembers a session.
func (s *sessions) note(raw string, key *adminv1.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	if len(s.by) >= maxSessions {
		for k, known := range s.by {
			if now.Sub(known.last) > idleTimeout {
				delete(s.by, k)
			}
		}
	}
	if len(s.by) < maxSessions {
		s.by[sha256.Sum256([]byte(raw))] = &seen{last: now, asked: now, key: key}
	}
}

// forget drops a session.
func (s *sessions) forget(raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, sha256.Sum256([]byte(raw)))
}

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

// maxAttempts bounds how many finished attempts are remembered.
const maxAttempts = 10_000

// attempts remembers which sign-ins at an identity provider have been finished, so that none is
// finished twice.
type attempts struct {
	mu    sync.Mutex
	clock func() time.Time
	ends  map[string]time.Time
	// order has the ids of ends as they came.
	order []string
}

// use marks an attempt that is good until a time. It reports false for one that was used. Anybody
// can make attempts up, so a full table drops its oldest: the identity provider refuses the code of
// an attempt that was used all the same.
func (a *attempts) use(id string, until time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	for len(a.order) > 0 && (len(a.order) >= maxAttempts || a.ends[a.order[0]].Before(now)) {
		delete(a.ends, a.order[0])
		a.order = a.order[1:]
	}
	if _, used := a.ends[id]; used {
		return false
	}
	a.ends[id], a.order = until, append(a.order, id)
	return true
}

type sessionsPage struct {
	Sessions []keyView
	Own      string
	Link     string // shown this once
	ReadOnly bool
}

// listSessions shows the sessions and links that are good.
func listSessions(c *call) error { return c.showSessions("", false) }

func (c *call) showSessions(link string, readOnly bool) error {
	p := sessionsPage{Own: c.session.GetId(), Link: link, ReadOnly: readOnly}
	req := &adminv1.ListKeysRequest{Group: adminv1.Group_GROUP_ADMIN, Live: true, PageSize: 1000}
	for {
		resp, err := c.admin.ListKeys(c.ctx, req)
		if err != nil {
			return err
		}
		for _, key := range resp.GetKeys() {
			if key.GetSettings().GetLabels()[consoleLabel] != "" {
				p.Sessions = append(p.Sessions, viewOf(key))
			}
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	c.show(http.StatusOK, "sessions.html", "Sessions", p)
	return nil
}

// makeLink makes a one-time link, with which somebody else signs in.
func makeLink(c *call) error {
	readOnly := c.r.PostFormValue("role") != "admin"
	made, err := c.admin.CreateSession(c.ctx, &adminv1.CreateSessionRequest{Link: true, ReadOnly: readOnly})
	if err != nil {
		return err
	}
	scheme := "http"
	if c.r.TLS != nil {
		scheme = "https"
	}
	link := url.URL{Scheme: scheme, Host: c.r.Host, Path: "/sign-in", Fragment: made.GetRawKey()}
	return c.showSessions(link.String(), readOnly)
}

// endSession ends any session or link.
func endSession(c *call) error {
	id := c.r.PathValue("id")
	resp, err := c.admin.GetKey(c.ctx, &adminv1.GetKeyRequest{Key: id})
	if err != nil {
		return err
	}
	if resp.GetKey().GetSettings().GetLabels()[consoleLabel] == "" {
		return &pageError{http.StatusBadRequest, "That key is no session; its own page revokes it."}
	}
	c.console.runs.revoke(c.ctx, c.admin, func(key runKey) bool { return key.session == id })
	if _, err := c.admin.RevokeKey(c.ctx, &adminv1.RevokeKeyRequest{Key: id}); err != nil {
		return err
	}
	http.Redirect(c.w, c.r, "/sessions", http.StatusSeeOther)
	return nil
}
