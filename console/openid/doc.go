// Package openid signs people in to the console at an identity provider: OpenID Connect's
// authorization code flow with PKCE (OpenID Connect Core 1.0, RFC 7636, RFC 9700). It knows
// neither pages nor sessions, and must not import anything else of this module.
//
// A sign-in is an Attempt. What is secret of it stays with the browser, in a cookie, so that
// it can end at any console of the same configuration.
package openid
