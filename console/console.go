package console

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/genway/genway/console/openid"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/grpc"
)

// Config is what a console is made of. Only Admin must be set.
type Config struct {
	// Admin is the way to the Admin service. Each call shows the key of a session.
	Admin grpc.ClientConnInterface
	// Generation is the way to the Generation service as a direct caller, for the playground. Each
	// call shows the key of the request. Nil is none.
	Generation grpc.ClientConnInterface
	// Gateway opens a connection to the JSON side of the same process, in cleartext, as from an
	// address, for the playground; nil is none. The console sends requests nowhere else.
	Gateway func(ctx context.Context, from netip.Addr) (net.Conn, error)
	// Hosts are the names by which browsers may reach the console besides localhost and
	// addresses. Others are refused, so that no foreign name can be pointed at it (DNS
	// rebinding).
	Hosts []string
	// Base is the URL of the JSON side for snippets, without a path; GRPC is HOST:PORT of the
	// core. Empty ones are left to the reader of the snippet.
	Base, GRPC string
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
	config.Logger = cmp.Or(config.Logger, slog.Default())
	if config.Clock == nil {
		config.Clock = time.Now
	}
	c := &Console{
		config: config, admin: adminv1.NewAdminClient(config.Admin),
		sessions: newSessions(config.Clock), signIns: newBound[netip.Prefix](config.Clock, signInBurst, signInEvery), runs: newRuns(),
		attempts: newAttempts(config.Clock), answers: newBound[netip.Prefix](config.Clock, signInBurst, signInEvery),
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

// ServeHTTP answers a request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }
