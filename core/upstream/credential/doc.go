// Package credential obtains the credentials of upstreams and keeps them fresh: tokens of
// Azure, Google Cloud and of an operator's own command, and the keys that AWS requests are
// signed with. Each source is one file.
//
// A credential is fetched when the first request needs it, by one fetch at a time. It is
// fetched again before its expiry, in the background, while requests go on with the one
// that is still valid. An expired credential is never sent: requests then wait for the
// issuer, and fail with an Error when it does not answer. No secret is in an error or a log.
//
// It must not import the adapters that send what it obtains, nor the configuration.
package credential
