package console

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// cookieName is that of the session's cookie. The prefix has browsers take it from this host
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
			wrong = "That is no key of the group admin, and no link that is still good."
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
