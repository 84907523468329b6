package server

import (
	"encoding/json"
	"testing"
)

// Issuer is an identity provider that speaks OpenID Connect, strictly, on localhost.
type Issuer struct{ *servant }

// Client is what an Issuer knows of its one client, and the claims of who signs in.
type Client struct {
	ID, Secret, RedirectURL string
	Claims                  map[string]any
}

// StartIssuer starts one. The test's end ends it.
func StartIssuer(tb testing.TB, client Client) Issuer {
	tb.Helper()
	text, err := json.Marshal(client)
	if err != nil {
		tb.Fatal(err)
	}
	return Issuer{startServantOf(tb, "./test/identity/issuer", string(text))}
}

// URL is the issuer's.
func (i Issuer) URL(tb testing.TB) string {
	tb.Helper()
	return i.ask(tb, "url")
}

// Refused are the requests that it has refused.
func (i Issuer) Refused(tb testing.TB) (list []string) {
	tb.Helper()
	if err := json.Unmarshal([]byte(i.ask(tb, "refused")), &list); err != nil {
		tb.Fatal(err)
	}
	return list
}
