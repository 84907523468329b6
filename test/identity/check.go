package identity

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// checkAuthorize holds a request to OpenID Connect Core 1.0, section 3.1.2.1, and RFC 7636.
func (p *Provider) checkAuthorize(q url.Values) error {
	known := []string{"response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge", "code_challenge_method"}
	for name, values := range q {
		if !slices.Contains(known, name) || len(values) != 1 || values[0] == "" {
			return fmt.Errorf("%s is given as %q", name, values)
		}
	}
	switch {
	case len(q) != len(known):
		return fmt.Errorf("%v lacks some of %v", q, known)
	case q.Get("response_type") != "code":
		return errors.New("response_type")
	case q.Get("client_id") != p.ClientID:
		return errors.New("client_id")
	case q.Get("redirect_uri") != p.RedirectURL:
		return errors.New("redirect_uri is " + q.Get("redirect_uri"))
	case !slices.Contains(strings.Fields(q.Get("scope")), "openid"):
		return errors.New("scope")
	case len(q.Get("state")) < 22 || len(q.Get("nonce")) < 22 || q.Get("state") == q.Get("nonce"):
		return errors.New("state or nonce can be guessed")
	case q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43:
		return errors.New("code_challenge")
	}
	return nil
}

// token answers with the tokens of a code, once.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	code, err := p.checkToken(r)
	if err != nil {
		p.refused = append(p.refused, "token: "+err.Error())
		write(w, http.StatusBadRequest, map[string]any{"error": code, "error_description": "<b>no</b> " + err.Error()})
		return
	}
	of := p.codes[r.PostFormValue("code")]
	of.used = true
	write(w, http.StatusOK, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 300, "id_token": p.identityToken(of)})
}

// checkToken holds a request to RFC 6749, section 4.1.3, and RFC 7636, section 4.6.
func (p *Provider) checkToken(r *http.Request) (code string, err error) {
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.URL.RawQuery != "" {
		return "invalid_request", errors.New("it is no form")
	}
	if err := r.ParseForm(); err != nil {
		return "invalid_request", err
	}
	for name, values := range r.PostForm {
		if len(values) != 1 {
			return "invalid_request", fmt.Errorf("%s is given %d times", name, len(values))
		}
	}
	if err := p.checkClient(r); err != nil {
		return "invalid_client", err
	}
	of := p.codes[r.PostFormValue("code")]
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case r.PostFormValue("grant_type") != "authorization_code":
		return "unsupported_grant_type", errors.New("grant_type")
	case of == nil:
		return "invalid_grant", errors.New("the code is none")
	case of.used:
		return "invalid_grant", errors.New("the code was used")
	case r.PostFormValue("redirect_uri") != p.RedirectURL:
		return "invalid_grant", errors.New("redirect_uri")
	case len(r.PostFormValue("code_verifier")) < 43 || base64.RawURLEncoding.EncodeToString(sum[:]) != of.challenge:
		return "invalid_grant", errors.New("code_verifier")
	}
	return "", nil
}

// checkClient demands one way to authenticate, that which the client has.
func (p *Provider) checkClient(r *http.Request) error {
	id, secret, basic := r.BasicAuth()
	posted := r.PostForm.Has("client_secret")
	switch method := slices.Concat(p.Methods, []string{"client_secret_basic"})[0]; {
	case method == "client_secret_basic" && (!basic || posted || id != p.ClientID || secret != url.QueryEscape(p.Secret)),
		method == "client_secret_post" && (basic || r.PostFormValue("client_id") != p.ClientID || r.PostFormValue("client_secret") != p.Secret),
		method == "none" && (basic || posted || r.PostFormValue("client_id") != p.ClientID):
		return errors.New("the client does not authenticate by " + method)
	}
	return nil
}
