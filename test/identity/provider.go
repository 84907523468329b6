package identity

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"
)

// Provider is an identity provider at which everybody is signed in already. What is exported may
// be changed through Set.
type Provider struct {
	// URL is the issuer's.
	URL string
	// ClientID, Secret and RedirectURL are the one client's.
	ClientID, Secret, RedirectURL string
	// Methods are the client's ways to authenticate at the token endpoint. Default
	// client_secret_basic, which is not in the document.
	Methods []string
	// Claims go into ID tokens, before those that the provider sets itself; nil takes one out.
	Claims map[string]any
	// Algorithm signs ID tokens: ES256 (default), RS256, none, HS256 or public, which is HS256
	// with the public key's encoding as its secret.
	Algorithm string
	// Token, unless nil, alters the ID token.
	Token func(string) string
	// Away has paths answer a status: 0 is none.
	Away map[string]int
	// Names has answers name the issuer (RFC 9207); Named is what they name, by default URL.
	Names bool
	Named string
	// Endpoint, unless empty, is what the discovery document has as its token endpoint.
	Endpoint string

	mu      sync.Mutex
	server  *httptest.Server
	keys    []*key
	codes   map[string]*grant
	refused []string
	calls   map[string]int
}

// grant is what a code stands for.
type grant struct {
	nonce, challenge string
	used             bool
}

// Start starts a provider for one client; it ends with Close.
func Start(clientID, secret string) *Provider {
	p := &Provider{ClientID: clientID, Secret: secret, codes: map[string]*grant{}, calls: map[string]int{}, keys: []*key{newKey(0)}}
	p.server = httptest.NewServer(http.HandlerFunc(p.serve))
	p.URL = p.server.URL
	return p
}

// Close ends it.
func (p *Provider) Close() { p.server.Close() }

// Set changes the provider while nobody is answered.
func (p *Provider) Set(change func(*Provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// Rotate signs with a new key from now on, and has the old one no more.
func (p *Provider) Rotate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = []*key{newKey(p.keys[0].number + 1)}
}

// Refused are the requests that were refused, in words.
func (p *Provider) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// Calls is how often a path was asked for.
func (p *Provider) Calls(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[path]
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[r.URL.Path]++
	if code := p.Away[r.URL.Path]; code != 0 {
		w.Header().Set("Location", p.URL+"/elsewhere")
		http.Error(w, "away: secret of the provider", code)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		p.discovery(w)
	case "/keys":
		list := []map[string]any{}
		for _, k := range p.keys {
			list = append(list, k.public(p.Algorithm))
		}
		write(w, http.StatusOK, map[string]any{"keys": list})
	case "/authorize":
		p.authorize(w, r)
	case "/token":
		p.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (p *Provider) discovery(w http.ResponseWriter) {
	document := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "code_challenge_methods_supported": []string{"S256"},
		// It lists what must not be taken.
		"id_token_signing_alg_values_supported": []string{"RS256", "ES256", "HS256", "none"},
	}
	if p.Methods != nil {
		document["token_endpoint_auth_methods_supported"] = p.Methods
	}
	if p.Names {
		document["authorization_response_iss_parameter_supported"] = true
	}
	if p.Endpoint != "" {
		document["token_endpoint"] = p.Endpoint
	}
	write(w, http.StatusOK, document)
}

// authorize sends the browser back with a code at once.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if err := p.checkAuthorize(q); err != nil {
		p.refused = append(p.refused, "authorize: "+err.Error())
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	made := random()
	p.codes[made] = &grant{nonce: q.Get("nonce"), challenge: q.Get("code_challenge")}
	back := url.Values{"code": {made}, "state": q["state"]}
	if p.Names {
		back.Set("iss", p.URL)
	}
	if p.Named != "" {
		back.Set("iss", p.Named)
	}
	http.Redirect(w, r, p.RedirectURL+"?"+back.Encode(), http.StatusFound)
}

// identityToken makes the ID token of a grant.
func (p *Provider) identityToken(of *grant) string {
	now := time.Now()
	claims := map[string]any{"iss": p.URL, "sub": "u-1", "aud": p.ClientID, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "nonce": of.nonce}
	for name, value := range p.Claims {
		if value == nil {
			delete(claims, name)
			continue
		}
		claims[name] = value
	}
	signed := p.keys[0].sign(p.Algorithm, p.Secret, claims)
	if p.Token != nil {
		signed = p.Token(signed)
	}
	return signed
}

func write(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(fmt.Sprintf("identity: %v", err))
	}
}
