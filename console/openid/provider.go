package openid

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Config configures a Provider. Issuer, ClientID, RedirectURL and one group must be set.
type Config struct {
	// Issuer is the identity provider's URL, exactly as its tokens have it.
	Issuer string
	// ClientID is the console's name there.
	ClientID string
	// Secret returns the client's secret. It is asked for each sign-in. Nil or empty is a public
	// client.
	Secret func() (string, error)
	// RedirectURL is where the identity provider sends browsers back to.
	RedirectURL string
	// Scopes are asked for beside openid. Default: email and profile.
	Scopes []string
	// GroupsClaim is the claim of ID tokens that has the groups. Default: groups.
	GroupsClaim string
	// AdminGroups may change something; ViewerGroups see. Nobody else signs in.
	AdminGroups, ViewerGroups []string
	// CaptureGroups may read captured bodies, if they sign in at all.
	CaptureGroups []string
	// Clock is time.Now unless set.
	Clock func() time.Time
	// Transport makes the calls. Default: http.DefaultTransport.
	Transport http.RoundTripper
}

const (
	// retryAfter is how long after a failed discovery the identity provider is left alone.
	retryAfter = 3 * time.Second
	// knownFor is how long a discovery and its keys are good: a key that the identity provider has
	// withdrawn signs no user in after that.
	knownFor = time.Hour
)

// algorithms are the signatures by public keys. None and those with the client's secret
// (HS256) are no proof of the issuer's.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// Provider signs people in at an identity provider. It is safe for concurrent use, and calls
// nobody before the first sign-in.
type Provider struct {
	config Config
	client *http.Client

	mu     sync.Mutex
	found  *discovered
	failed error
	retry  time.Time
}

// discovered is what the identity provider says of itself.
type discovered struct {
	endpoint oauth2.Endpoint
	verifier *oidc.IDTokenVerifier
	// names reports whether answers name their issuer (RFC 9207).
	names bool
	until time.Time
}

// New makes a provider.
func New(config Config) *Provider {
	config.GroupsClaim = cmp.Or(config.GroupsClaim, "groups")
	if len(config.Scopes) == 0 {
		config.Scopes = []string{"email", "profile"}
	}
	if config.Clock == nil {
		config.Clock = time.Now
	}
	if config.Transport == nil {
		config.Transport = http.DefaultTransport
	}
	return &Provider{config: config, client: newClient(config.Transport)}
}

// Issuer is the identity provider's URL.
func (p *Provider) Issuer() string { return p.config.Issuer }

// RedirectURL is where browsers come back to.
func (p *Provider) RedirectURL() string { return p.config.RedirectURL }

// Begin begins a sign-in that leads to the path to. It returns the address at the identity provider
// to which the browser is sent. The error is an *UnavailableError.
func (p *Provider) Begin(ctx context.Context, to string) (address string, attempt Attempt, err error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", Attempt{}, err
	}
	attempt = newAttempt(to, p.config.Clock())
	return p.oauth(found, "").AuthCodeURL(attempt.derive("state"),
		oidc.Nonce(attempt.derive("nonce")), oauth2.S256ChallengeOption(attempt.derive("verifier"))), attempt, nil
}

func (p *Provider) oauth(found *discovered, secret string) *oauth2.Config {
	scopes := slices.DeleteFunc(slices.Clone(p.config.Scopes), func(s string) bool { return s == oidc.ScopeOpenID })
	endpoint := found.endpoint
	if secret == "" {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: p.config.ClientID, ClientSecret: secret, Endpoint: endpoint,
		RedirectURL: p.config.RedirectURL, Scopes: append([]string{oidc.ScopeOpenID}, scopes...),
	}
}

// discover returns what the identity provider says of itself, which it is asked for once in
// knownFor. While it does not answer, one caller at a time asks, and none within retryAfter of a
// failure.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.config.Clock()
	if p.found != nil && now.Before(p.found.until) {
		return p.found, nil
	}
	if p.failed != nil && now.Before(p.retry) {
		return nil, &UnavailableError{p.failed}
	}
	found, err := p.ask(ctx)
	if err != nil {
		if ctx.Err() == nil { // else the browser has left, which says nothing of the provider
			p.failed, p.retry = err, now.Add(retryAfter)
		}
		return nil, &UnavailableError{err}
	}
	found.until = now.Add(knownFor)
	p.found, p.failed = found, nil
	return found, nil
}

func (p *Provider) ask(ctx context.Context) (*discovered, error) {
	metadata, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.config.Issuer)
	if err != nil {
		return nil, err //nolint:wrapcheck // UnavailableError says whose it is
	}
	var more struct {
		JWKS    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		Names   bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := metadata.Claims(&more); err != nil {
		return nil, err //nolint:wrapcheck // likewise
	}
	endpoint := metadata.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, more.JWKS} {
		if u, err := url.Parse(address); err != nil || !Protected(u) {
			return nil, errors.New("its discovery document lacks an endpoint, or has one that is not https")
		}
	}
	// Without a list it is client_secret_basic (OpenID Connect Discovery 1.0, section 3).
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	// The set of keys outlives the request; its calls have the client's own deadline.
	verifier := metadata.Verifier(&oidc.Config{ClientID: p.config.ClientID, SupportedSigningAlgs: algorithms, Now: p.config.Clock})
	return &discovered{endpoint: endpoint, verifier: verifier, names: more.Names}, nil
}
