// Package identity plays an identity provider for tests: OpenID Connect's authorization code flow
// with PKCE, strictly. A request that a strict provider refuses is refused, and each refusal is
// kept for the test to see.
//
// No command may import it.
package identity
