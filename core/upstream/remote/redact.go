package remote

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"github.com/genway/genway/codec/fault"
)

const (
	// redacted replaces a credential.
	redacted = "[REDACTED]"
	// minSecret is the least length of a value that is redacted: shorter values occur in ordinary
	// words.
	minSecret = 8
)

// redact removes the gateway's credentials from an upstream's error: some upstreams repeat them, and
// the caller and the log get that error (case K1).
func (u *Upstream) redact(body []byte) []byte {
	for _, secret := range u.secrets() {
		if len(secret) >= minSecret {
			body = bytes.ReplaceAll(body, []byte(secret), []byte(redacted))
		}
	}
	return body
}

// redactFault does the same for a failure that an upstream reports with status 200, or within a
// stream, and classifies it.
func (u *Upstream) redactFault(err error) error {
	if err == nil {
		return nil
	}
	f := fault.From(err)
	f.Classify()
	f.Message = string(u.redact([]byte(f.Message)))
	if f.Wire != nil {
		f.Wire.Json = u.redact(f.Wire.Json)
	}
	return f
}

// secrets are the keys, the secrets of the credential, and the values of the configured headers,
// query parameters and URL that are named like credentials.
func (u *Upstream) secrets() []string {
	secrets := slices.Clone(*u.keys.Load())
	if u.config.Credential != nil {
		secrets = append(secrets, u.config.Credential.Secrets()...)
	}
	for name, value := range u.config.Headers {
		if isSecret(name) {
			secrets = append(secrets, strings.TrimPrefix(value, "Bearer "))
		}
	}
	for name, value := range u.config.Query {
		if isSecret(name) {
			secrets = append(secrets, value, url.QueryEscape(value))
		}
	}
	for name, values := range u.base.Query() {
		for _, value := range values {
			if isSecret(name) {
				secrets = append(secrets, value, url.QueryEscape(value))
			}
		}
	}
	if password, given := u.base.User.Password(); given {
		secrets = append(secrets, password)
	}
	return secrets
}

// isSecret reports whether a header or a member of a query is named like a credential.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"auth", "cookie", "key", "secret", "sig", "token"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
