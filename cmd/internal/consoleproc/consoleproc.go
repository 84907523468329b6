// Package consoleproc runs the console: its flags, its listener and its end. It must not import
// gateway.
package consoleproc

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/console"
	"github.com/genway/genway/console/openid"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"golang.org/x/net/netutil"
)

// What --console says besides an address.
const (
	// Auto is DefaultAddress where that is free, and no console where it is not.
	Auto = "auto"
	// Off is no console.
	Off = "off"
)

// DefaultAddress is where Auto listens.
const DefaultAddress = "127.0.0.1:8088"

// Flags are the console's flags but its address, whose default depends on the command.
type Flags struct {
	ConsoleHosts []string `name:"console-host" env:"GENWAY_CONSOLE_HOSTS" placeholder:"NAME" group:"Console:" help:"Host names of the console besides localhost and addresses."`
	ConsoleAPI   string   `name:"console-api" env:"GENWAY_CONSOLE_API" placeholder:"URL" group:"Console:" help:"Where callers reach the JSON API."`
	ConsoleEdge  string   `name:"console-edge" env:"GENWAY_CONSOLE_EDGE" placeholder:"URL" group:"Console:" help:"Where the playground reaches it. Default: --console-api."`
}

// Validate refuses what is no address of an API.
func (f *Flags) Validate() error {
	var err error
	if f.ConsoleAPI, err = address("--console-api (GENWAY_CONSOLE_API)", f.ConsoleAPI); err != nil {
		return err
	}
	f.ConsoleEdge, err = address("--console-edge (GENWAY_CONSOLE_EDGE)", f.ConsoleEdge)
	return err
}

func address(flag, given string) (string, error) {
	if given == "" {
		return "", nil
	}
	at, err := url.Parse(given)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "" {
		return "", errors.New(flag + ": expected a URL such as https://api.example.com")
	}
	return strings.TrimRight(given, "/"), nil
}

// Listener is the console's; nil for none.
type Listener struct {
	net.Listener
	tls *tls.Config
}

// Listen opens the console's listener as --console says; nil for none. With a TLS configuration
// it speaks TLS, but on a unix socket. A default port that is taken is logged, and one that was
// asked for is an error.
func Listen(ctx context.Context, address string, encrypt *tls.Config, log *slog.Logger) (*Listener, error) {
	switch address {
	case "", Off:
		return nil, nil //nolint:nilnil // none is no error
	case Auto:
		listener, err := cli.Listen(ctx, "--console", DefaultAddress)
		if err != nil {
			log.Warn("the console is not served: its default address is taken; choose another with --console", "error", err)
			return nil, nil //nolint:nilnil // the server goes on without
		}
		return &Listener{listener, encrypt}, nil
	}
	listener, err := cli.Listen(ctx, "--console", address)
	if err != nil {
		return nil, err
	}
	if listener.Addr().Network() == "unix" {
		encrypt = nil
	}
	return &Listener{listener, encrypt}, nil
}

// URL is where a browser of this machine finds the console; of a unix socket, its path.
func (l *Listener) URL() string {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return "unix:" + l.Addr().String()
	}
	host := at.String()
	if at.IP.IsUnspecified() {
		host = net.JoinHostPort("127.0.0.1", strconv.Itoa(at.Port))
	}
	scheme := "http"
	if l.tls != nil {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: host}).String()
}

// Close closes the listener, which may be nil.
func (l *Listener) Close() error {
	if l == nil {
		return nil
	}
	if err := l.Listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

const (
	// maxConnections bounds the console's connections.
	maxConnections = 512
	// endTimeout is how long pages in flight may take once the end was asked for.
	endTimeout = 5 * time.Second
)

// ServeConsole serves a console on the listener until ctx ends, beside the core that makes sessions for
// whom its identity provider vouches for. A nil listener serves nothing.
func (f *Flags) ServeConsole(ctx context.Context, l *Listener, core Core, config console.Config) error {
	if l == nil {
		return nil
	}
	config.Hosts, config.API, config.Edge = f.ConsoleHosts, f.ConsoleAPI, cmp.Or(f.ConsoleEdge, f.ConsoleAPI)
	config.OpenID, config.Models = NewSignIn(core.OIDC).Provider, core.Models
	config.StartSession = func(ctx context.Context, who openid.Identity) (string, error) {
		return core.StartSession(ctx, keys.SessionParams{Subject: who.Subject, Email: who.Email, ReadOnly: who.ReadOnly, ReadCaptures: who.ReadCaptures})
	}
	handler, err := console.New(config)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server := &http.Server{
		Handler: handler, TLSConfig: l.tls, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog:    slog.NewLogLogger(config.Logger.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	config.Logger.Info("the console is up", "console", l.URL())
	limited := netutil.LimitListener(l.Listener, maxConnections)
	failed := make(chan error, 1)
	go func() {
		if l.tls != nil {
			failed <- server.ServeTLS(limited, "", "")
			return
		}
		failed <- server.Serve(limited)
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("console: %w", err)
	case <-ctx.Done():
	}
	within, stop := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer stop()
	if err := server.Shutdown(within); err != nil {
		_ = server.Close() // what is in flight ends with its context
	}
	<-failed //nolint:errcheck // http.ErrServerClosed
	return nil
}

// Core is what a console needs of the core beside it, apart from the Admin service.
type Core interface {
	// OIDC is the identity provider that is configured; nil for none.
	OIDC() *config.OIDC
	// StartSession makes a session of the subject whom the identity provider vouches for, and returns its
	// key.
	StartSession(ctx context.Context, params keys.SessionParams) (raw string, err error)
	// Models are those to try in each protocol.
	Models() map[genwayv1.Protocol]string
}

// SignIn is the identity provider of a configuration, which is kept over changes of others of
// its parts.
type SignIn struct {
	section func() *config.OIDC

	mu       sync.Mutex
	of       *config.OIDC
	provider *openid.Provider
}

// NewSignIn follows what section returns; nil is no identity provider.
func NewSignIn(section func() *config.OIDC) *SignIn { return &SignIn{section: section} }

// Provider returns the identity provider in force; nil for none.
func (s *SignIn) Provider() *openid.Provider {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.section()
	if now != s.of && !reflect.DeepEqual(now, s.of) {
		s.provider = provider(now)
	}
	s.of = now
	return s.provider
}

func provider(of *config.OIDC) *openid.Provider {
	if of == nil {
		return nil
	}
	return openid.New(openid.Config{
		Issuer: of.Issuer, ClientID: of.ClientID, Secret: of.Secret, RedirectURL: of.RedirectURL, Scopes: of.Scopes,
		GroupsClaim: of.GroupsClaim, AdminGroups: of.AdminGroups, ViewerGroups: of.ViewerGroups, CaptureGroups: of.CaptureGroups,
	})
}
