// Package console is the web console: pages for operators, and for developers on their first
// day. It is an http.Handler and a client of the Admin service: each thing that it shows or changes is
// a call of that service with the key of the session, so grpcurl can do all of it and the audit
// has each change.
//
// Pages are html/template, scripts are ES modules of its own, charts are SVG of package
// console/chart, and all of it is embedded. It loads nothing from elsewhere, builds nothing, and
// makes no use of inline scripts or styles, which its Content-Security-Policy forbids.
//
// It must not import core, gateway or a store.
package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/console/openid"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
)

// Config configures a Console. Only Admin must be set.
type Config struct {
	// Admin is the way to the Admin service. Each call shows the key of a session.
	Admin grpc.ClientConnInterface
	// Generation is the way to the Generation service as a direct caller, for the playground. Each
	// call shows the key of the request. Nil is none.
	Generation grpc.ClientConnInterface
	// Gateway opens a connection to the JSON side of the same process, in cleartext, as from an
	// address, for the playground; nil is none. The console sends requests nowhere else but to Edge.
	Gateway func(ctx context.Context, from netip.Addr) (net.Conn, error)
	// Hosts are the names by which browsers may reach the console besides localhost and
	// addresses. Others are refused, so that no foreign name can be pointed at it (DNS
	// rebinding).
	Hosts []string
	// Base is the URL of the JSON side for snippets as this machine reaches it, without a path; GRPC is HOST:PORT of the
	// core. Empty ones are left to the reader of the snippet.
	Base, GRPC string
	// API is the URL at which callers reach the JSON side, which snippets have in place of Base; empty is unknown. Edge is where the
	// playground sends requests where Gateway is nil; empty is nowhere.
	API, Edge string
	// Models returns a model to try in each protocol, as far as one is known; PROTOCOL_UNSPECIFIED is that of direct callers. Nil
	// knows none.
	Models func() map[genwayv1.Protocol]string
	// OpenID returns the identity provider by which people sign in besides keys. Nil is none, and so
	// is a nil answer. It may change.
	OpenID func() *openid.Provider
	// StartSession makes a session for whom the identity provider vouches for, and returns its key.
	// It must be set with OpenID.
	StartSession func(ctx context.Context, who openid.Identity) (raw string, err error)
	// Version is the program's.
	Version string
	// Logger gets a line for each failure that is the console's own. Default: slog.Default().
	Logger *slog.Logger
	// Clock is time.Now unless set.
	Clock func() time.Time
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	config   Config
	admin    adminv1.AdminClient
	sessions *sessions
	signIns  *bound[netip.Prefix]
	runs     *runs
	attempts *attempts
	answers  *bound[netip.Prefix] // failed sign-ins by the identity provider, so that its outage keeps no key out
	handler  http.Handler
}

// New makes a console.
func New(config Config) (*Console, error) {
	if config.Admin == nil {
		return nil, errors.New("console: no way to the Admin service")
	}
	config.Logger, config.Base = cmp.Or(config.Logger, slog.Default()), cmp.Or(config.API, config.Base)
	if config.Clock == nil {
		config.Clock = time.Now
	}
	c := &Console{
		config: config, admin: adminv1.NewAdminClient(config.Admin),
		sessions: &sessions{clock: config.Clock, by: map[[sha256.Size]byte]*seen{}},
		signIns:  newBound[netip.Prefix](config.Clock, signInBurst, signInEvery),
		runs:     &runs{of: map[[sha256.Size]byte]int{}, keys: map[[sha256.Size]byte]runKey{}},
		attempts: &attempts{clock: config.Clock, ends: map[string]time.Time{}},
		answers:  newBound[netip.Prefix](config.Clock, signInBurst, signInEvery),
	}
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", assets())
	mux.HandleFunc("GET /sign-in", c.showSignIn)
	mux.HandleFunc("POST /sign-in", c.signIn)
	mux.HandleFunc("GET /sign-in/start", c.beginOpenID)
	mux.HandleFunc("GET "+CallbackPath, c.endOpenID)
	for pattern, handle := range routes {
		mux.Handle(pattern, c.signedIn(handle))
	}
	c.handler = c.guarded(http.NewCrossOriginProtection().Handler(mux))
	return c, nil
}

// modelOf returns a model to try; that of the examples where none is known.
func (c *Console) modelOf(p play) string {
	model := ""
	if c.config.Models != nil {
		model = c.config.Models()[protocolNamed(cmp.Or(p.Like, p.Protocol))]
	}
	return cmp.Or(model, p.Draws, sandboxText)
}

// ServeHTTP answers a request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// handler answers a request of somebody who is signed in.
type handler func(*call) error

// routes are the pages that need a sign-in.
var routes = map[string]handler{
	"GET /{$}":                          home,
	"POST /sign-out":                    signOut,
	"GET /overview":                     showOverview,
	"GET /requests":                     listRequests,
	"GET /requests.csv":                 requestsCSV,
	"GET /requests/live":                liveRequests,
	"GET /requests/refused":             listRefused,
	"GET /requests/{id}":                showRequest,
	"GET /requests/{id}/file":           requestFile,
	"GET /requests/{id}/bodies":         showBodies,
	"POST /requests/{id}/bodies/delete": deleteBodies,
	"GET /xray":                         showXRay,
	"POST /xray":                        showXRay,
	"GET /playground":                   showPlayground,
	"POST /playground/run":              runPlayground,
	"GET /upstreams":                    showUpstreams,
	"GET /upstreams/try":                showTry,
	"POST /upstreams/try":               tryUpstream,
	"GET /configuration":                showConfiguration,
	"POST /configuration":               changeConfiguration,
	"POST /configuration/check":         checkConfiguration,
	"GET /captures":                     showCaptures,
	"POST /captures":                    beginCapture,
	"POST /captures/end":                endCapture,
	"GET /nodes":                        showNodes,
	"GET /usage":                        showUsage,
	"GET /usage.csv":                    usageCSV,
	"GET /keys":                         listKeys,
	"GET /keys/new":                     newKey,
	"POST /keys":                        createKey,
	"GET /keys/import":                  importForm,
	"POST /keys/import":                 importKeys,
	"GET /keys/{id}":                    showKey,
	"POST /keys/{id}/settings":          updateKey,
	"POST /keys/{id}/rotate":            rotateKey,
	"POST /keys/{id}/revoke":            revokeKey,
	"GET /audit":                        showAudit,
	"POST /audit/verify":                verifyAudit,
	"GET /sessions":                     listSessions,
	"POST /sessions/link":               makeLink,
	"POST /sessions/{id}/end":           endSession,
	"GET /connect":                      showConnect,
	"POST /connect":                     connectWithKey,
	"GET /":                             notFound,
}

// navigation are the pages that each page links, in order. Key is what is typed after g.
var navigation = []struct{ Path, Title, Key string }{
	{"/overview", "Overview", "o"},
	{"/requests", "Requests", "r"},
	{"/xray", "X-ray", "x"},
	{"/playground", "Playground", "y"},
	{"/usage", "Usage", "u"},
	{"/keys", "Keys", "k"},
	{"/upstreams", "Upstreams", "p"},
	{"/configuration", "Configuration", "f"},
	{"/captures", "Captures", "b"},
	{"/nodes", "Nodes", "n"},
	{"/audit", "Audit", "a"},
	{"/sessions", "Sessions", "s"},
	{"/connect", "Connect", "c"},
}

// home leads to the first page.
func home(c *call) error {
	http.Redirect(c.w, c.r, navigation[0].Path, http.StatusSeeOther)
	return nil
}

func notFound(*call) error { return &pageError{http.StatusNotFound, "There is no such page."} }

// policy is the Content-Security-Policy: only what the console itself serves, no inline script
// or style, and no string that a script could make HTML of.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// maxForm bounds the body of a form, in bytes.
const maxForm = 1 << 20

// guarded sets the headers of every answer, refuses hosts that are not the console's, and bounds
// bodies.
func (c *Console) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		h.Set("Cache-Control", "no-store")
		if !c.hosts(r.Host) {
			http.Error(w, "This host name is none of the console's; see --console-host.", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}

// hosts reports whether a Host header names the console. An address cannot be pointed elsewhere,
// as a name can.
func (c *Console) hosts(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"), "."))
	if provider := c.provider(); provider != nil {
		if back, err := url.Parse(provider.RedirectURL()); err == nil && strings.EqualFold(back.Hostname(), name) {
			return true
		}
	}
	if name == "localhost" || slices.ContainsFunc(c.config.Hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// addressOf returns where a request comes from; the zero Addr for a unix socket.
func addressOf(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// Sign-ins that fail are bounded by where they come from: a burst, and then one in a while.
const (
	signInBurst = 10
	signInEvery = 6 * time.Second
	// boundPlaces is how many places are remembered; the memory is emptied beyond.
	boundPlaces = 4096
)

// bound admits a burst of attempts for each key, and one more for each interval that passes.
type bound[K comparable] struct {
	mu       sync.Mutex
	clock    func() time.Time
	burst    int
	every    time.Duration
	attempts map[K]*rate.Limiter
}

func newBound[K comparable](clock func() time.Time, burst int, every time.Duration) *bound[K] {
	return &bound[K]{clock: clock, burst: burst, every: every, attempts: map[K]*rate.Limiter{}}
}

// admits reports whether there may be an attempt, without counting one.
func (b *bound[K]) admits(key K) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	made, known := b.attempts[key]
	return !known || made.TokensAt(b.clock()) >= 1
}

// count counts an attempt, also one that was not admitted: those that come at once are.
func (b *bound[K]) count(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	if len(b.attempts) >= boundPlaces {
		maps.DeleteFunc(b.attempts, func(_ K, made *rate.Limiter) bool { return made.TokensAt(now) >= float64(b.burst) })
		if len(b.attempts) >= boundPlaces {
			clear(b.attempts)
		}
	}
	if b.attempts[key] == nil {
		b.attempts[key] = rate.NewLimiter(rate.Every(b.every), b.burst)
	}
	b.attempts[key].ReserveN(now, 1)
}
