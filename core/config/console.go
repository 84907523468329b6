package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// CallbackPath is the path of the console's redirect URL.
const CallbackPath = "/sign-in/oidc"

// Console is who signs in to the console, besides keys and links.
type Console struct {
	// OIDC is an identity provider. Nil is none.
	OIDC *OIDC `yaml:"oidc,omitempty" json:"oidc,omitempty" jsonschema_description:"An identity provider that speaks OpenID Connect, as docs/observability.md has it."`
}

// OIDC is an identity provider that speaks OpenID Connect, and who of it may do what.
type OIDC struct {
	// Issuer is the provider's URL, exactly as its discovery document has it. Required.
	Issuer string `yaml:"issuer" json:"issuer" jsonschema_description:"The identity provider's URL, exactly as its discovery document has it as issuer: https://login.example.com/realms/staff."`
	// ClientID is the console's name there. Required.
	ClientID string `yaml:"client_id" json:"client_id" jsonschema_description:"The console's client id there."`
	// One of these proves that it is the console; neither is a public client.
	ClientSecret     string `yaml:"client_secret,omitempty" json:"client_secret,omitempty" jsonschema_description:"The client secret, best as ${NAME} from the environment. Without one the console is a public client."`
	ClientSecretFile string `yaml:"client_secret_file,omitempty" json:"client_secret_file,omitempty" jsonschema_description:"A file with the client secret, read for each sign-in; a relative path begins beside this file."`
	// RedirectURL is where browsers come back to: the console's address and CallbackPath. Required.
	RedirectURL string `yaml:"redirect_url" json:"redirect_url" jsonschema_description:"Where browsers come back to, as the identity provider has it for the client: the console's address with the path /sign-in/oidc."`
	// Scopes are asked for. Default openid, email and profile.
	Scopes []string `yaml:"scopes,omitempty" json:"scopes,omitempty" jsonschema_description:"What is asked for beside openid; default email and profile. Some providers need one more to give groups."`
	// GroupsClaim is the claim of ID tokens that has groups. Default groups.
	GroupsClaim string `yaml:"groups_claim,omitempty" json:"groups_claim,omitempty" jsonschema_description:"The claim of ID tokens that has the groups, a text or a list of texts; default groups."`
	// AdminGroups and ViewerGroups are who may do what; at least one group is needed.
	AdminGroups  []string `yaml:"admin_groups,omitempty" json:"admin_groups,omitempty" jsonschema_description:"Groups whose members are admins."`
	ViewerGroups []string `yaml:"viewer_groups,omitempty" json:"viewer_groups,omitempty" jsonschema_description:"Groups whose members see all and change nothing. Others cannot sign in."`
	// CaptureGroups read captured bodies, if one of the others lets them sign in. Default none.
	CaptureGroups []string `yaml:"capture_groups,omitempty" json:"capture_groups,omitempty" jsonschema_description:"Groups whose members read captured bodies, where another of their groups lets them sign in. Without it, nobody who signs in here does."`
}

// OIDC is the identity provider of the console; nil for none.
func (c *Config) OIDC() *OIDC {
	if c.Console == nil {
		return nil
	}
	return c.Console.OIDC
}

// Secret returns the client secret as it is now; empty for a public client.
func (o *OIDC) Secret() (string, error) {
	if o.ClientSecretFile != "" {
		return ReadSecret(o.ClientSecretFile)
	}
	return o.ClientSecret, nil
}

func (c *Console) validate(all *checks, at string) {
	if c == nil || c.OIDC == nil {
		return
	}
	c.OIDC.validate(all, at+".oidc")
}

func (o *OIDC) validate(all *checks, at string) {
	for _, needed := range []struct{ key, value string }{{"issuer", o.Issuer}, {"client_id", o.ClientID}, {"redirect_url", o.RedirectURL}} {
		if needed.value == "" {
			all.wrongf(at, "%s is missing", needed.key)
		}
	}
	if o.Issuer != "" && !protectedURL(o.Issuer) {
		all.wrongf(at+".issuer", "expected https://host, without a query or a fragment")
	}
	if o.ClientSecret != "" && o.ClientSecretFile != "" {
		all.wrongf(at+".client_secret_file", "client_secret and client_secret_file exclude each other")
	}
	if u, err := url.Parse(o.RedirectURL); o.RedirectURL != "" && (!protectedURL(o.RedirectURL) || err != nil || u.Path != CallbackPath) {
		all.wrongf(at+".redirect_url", "expected the console's address with the path %s, as https://genway.example.com%s, or http:// on this machine", CallbackPath, CallbackPath)
	}
	for i, scope := range o.Scopes {
		// RFC 6749, section 3.3.
		if scope == "" || strings.ContainsFunc(scope, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) {
			all.wrongf(fmt.Sprintf("%s.scopes[%d]", at, i), "%q is no scope; write each as an element of its own", scope)
		}
	}
	if len(o.AdminGroups)+len(o.ViewerGroups) == 0 {
		all.wrongf(at, "admin_groups and viewer_groups are missing, so nobody could sign in; name a group")
	}
	for _, list := range []struct {
		key    string
		groups []string
	}{{"admin_groups", o.AdminGroups}, {"viewer_groups", o.ViewerGroups}, {"capture_groups", o.CaptureGroups}} {
		for i, group := range list.groups {
			switch here := fmt.Sprintf("%s.%s[%d]", at, list.key, i); {
			case group == "":
				all.wrongf(here, "it is empty")
			case list.key == "viewer_groups" && slices.Contains(o.AdminGroups, group):
				all.wrongf(here, "%q is a group of admins, too", group)
			}
		}
	}
}

// protectedURL reports whether a text is a plain address to which secrets can go: https, or http on
// this machine.
func protectedURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && badHost(u) == "" && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && !strings.Contains(text, "#") &&
		(u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()))
}
