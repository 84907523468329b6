package openid

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// An Identity is who an identity provider says somebody is.
type Identity struct {
	// Subject names them at the issuer, for good: 1 to 255 ASCII characters that are printable.
	Subject string
	// Email is an address of theirs that the issuer has verified; empty for none.
	Email string
	// ReadOnly says that the user is in groups of viewers only.
	ReadOnly bool
	// ReadCaptures says that a group of the user may read captured bodies.
	ReadCaptures bool
}

// Finish ends a sign-in by what the browser has brought back in its query. The error is a
// *RefusedError or an *UnavailableError.
func (p *Provider) Finish(ctx context.Context, attempt Attempt, query url.Values) (Identity, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return Identity{}, err
	}
	if err := p.checkAnswer(found, attempt, query); err != nil {
		return Identity{}, err
	}
	raw, access, err := p.exchange(ctx, found, attempt, query.Get("code"))
	if err != nil {
		return Identity{}, err
	}
	token, err := found.verifier.Verify(oidc.ClientContext(ctx, p.client), raw)
	if err != nil {
		if strings.Contains(err.Error(), "fetching keys") { // go-oidc has no type for it
			return Identity{}, &UnavailableError{err}
		}
		return Identity{}, invalid(err)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(attempt.derive("nonce"))) != 1 {
		return Identity{}, invalid(errors.New("the nonce is another sign-in's"))
	}
	if token.AccessTokenHash != "" {
		if err := token.VerifyAccessToken(access); err != nil {
			return Identity{}, invalid(err)
		}
	}
	return p.identify(token)
}

// checkAnswer checks what the browser has brought back, before anything is asked.
func (p *Provider) checkAnswer(found *discovered, attempt Attempt, query url.Values) error {
	const again = " Sign in again."
	for _, name := range []string{"state", "code", "error", "iss"} {
		if len(query[name]) > 1 {
			return &RefusedError{Text: "The identity provider's answer is not valid." + again, Cause: fmt.Errorf("%s is given %d times", name, len(query[name]))}
		}
	}
	old := attempt.Check(p.config.Clock())
	switch iss := query.Get("iss"); {
	case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(attempt.derive("state"))) != 1:
		return &RefusedError{Text: "This sign-in began elsewhere, or another one has begun since." + again}
	case iss != p.config.Issuer && (iss != "" || found.names):
		return &RefusedError{Text: "The answer is another identity provider's." + again}
	case old != nil:
		return old
	case query.Has("error"):
		return &RefusedError{Text: "The identity provider refused the sign-in" + code(query.Get("error")) + "."}
	case query.Get("code") == "":
		return &RefusedError{Text: "The identity provider's answer has no code." + again}
	}
	return nil
}

// code returns a code of RFC 6749 in parentheses; empty for another text.
func code(text string) string {
	if text == "" || len(text) > 60 || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return " (" + text + ")"
}

// exchange returns the ID token and the access token of a code.
func (p *Provider) exchange(ctx context.Context, found *discovered, attempt Attempt, answered string) (id, access string, err error) {
	var secret string
	if p.config.Secret != nil {
		if secret, err = p.config.Secret(); err != nil {
			return "", "", &UnavailableError{fmt.Errorf("the client secret: %w", err)}
		}
	}
	token, err := p.oauth(found, secret).Exchange(oidc.ClientContext(ctx, p.client), answered, oauth2.VerifierOption(attempt.derive("verifier")))
	if err != nil {
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < 500 {
			return "", "", &RefusedError{
				Text:  "The identity provider refused the sign-in" + code(refused.ErrorCode) + ". Sign in again.",
				Cause: fmt.Errorf("the token endpoint answered %d%s", refused.Response.StatusCode, code(refused.ErrorCode)),
			}
		}
		return "", "", &UnavailableError{hidden(err)}
	}
	id, ok := token.Extra("id_token").(string)
	if !ok || id == "" {
		return "", "", invalid(errors.New("the token endpoint gave no ID token; is the scope openid allowed there?"))
	}
	return id, token.AccessToken, nil
}

// hidden keeps the body of an answer, which may have tokens, out of errors.
func hidden(err error) error {
	if answered, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("the token endpoint answered %d", answered.Response.StatusCode)
	}
	return err
}

func invalid(cause error) error {
	return &RefusedError{Text: "The identity provider's token is not valid here; the server's log says why.", Cause: cause}
}

// identify reads who somebody is, and what their groups let them do.
func (p *Provider) identify(token *oidc.IDToken) (Identity, error) {
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return Identity{}, invalid(err)
	}
	// OpenID Connect Core 1.0, section 3.1.3.7, points 4 and 5.
	if party, given := claims["azp"]; given && party != p.config.ClientID || !given && len(token.Audience) > 1 {
		return Identity{}, invalid(errors.New("the token was issued for another client (azp)"))
	}
	if token.Subject == "" || len(token.Subject) > 255 || strings.ContainsFunc(token.Subject, func(c rune) bool { return c < '!' || c > '~' }) {
		return Identity{}, invalid(errors.New("the subject is not 1 to 255 printable ASCII characters without spaces"))
	}
	groups, err := listOf(claims[p.config.GroupsClaim])
	if err != nil {
		return Identity{}, invalid(fmt.Errorf("the claim %s: %w", p.config.GroupsClaim, err))
	}
	who := Identity{Subject: token.Subject}
	if verified, _ := claims["email_verified"].(bool); verified {
		who.Email, _ = claims["email"].(string)
	}
	member := func(of []string) bool {
		return slices.ContainsFunc(of, func(group string) bool { return slices.Contains(groups, group) })
	}
	switch {
	case member(p.config.AdminGroups):
	case member(p.config.ViewerGroups):
		who.ReadOnly = true
	default:
		return Identity{}, &RefusedError{
			Text:  "You are in no group that may use this console. Ask the operator.",
			Cause: fmt.Errorf("subject %s has %d groups in the claim %s, none of them configured", token.Subject, len(groups), p.config.GroupsClaim),
		}
	}
	who.ReadCaptures = member(p.config.CaptureGroups)
	return who, nil
}

// listOf reads a claim that is a text, a list of texts, or missing.
func listOf(claim any) ([]string, error) {
	switch value := claim.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{value}, nil
	case []any:
		list := make([]string, 0, len(value))
		for _, one := range value {
			text, ok := one.(string)
			if !ok {
				return nil, errors.New("it is no list of texts")
			}
			list = append(list, text)
		}
		return list, nil
	}
	return nil, errors.New("it is neither a text nor a list of texts")
}
