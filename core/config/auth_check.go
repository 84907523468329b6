package config

import (
	"cmp"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/genway/genway/core/config/strict"
)

// checkAuth demands one way to obtain a credential, and all that it needs.
func (u Upstream) checkAuth(all *checks, at string) {
	if u.Auth == nil {
		return
	}
	ways := u.Auth.ways()
	switch len(ways) {
	case 0:
		all.wrongf(at+".auth", "it names no way; one of entra, managed_identity, google, aws, command, of which google: {}, aws: {} and managed_identity: {} take their defaults")
		return
	case 1:
	default:
		all.wrongf(at+".auth."+ways[1].key, "%s and %s exclude each other", ways[0].key, ways[1].key)
	}
	for key, given := range map[string]bool{"api_key": u.APIKey != "" && u.APIKeyFile == "", "api_key_file": u.APIKeyFile != ""} {
		if given {
			all.wrongf(at+"."+key, "%s and auth exclude each other", key)
		}
	}
	for _, w := range ways {
		w.check(all, at+".auth."+w.key)
	}
}

func (a *EntraAuth) check(all *checks, at string) {
	for _, needed := range []struct{ key, value string }{{"tenant", a.Tenant}, {"client_id", a.ClientID}} {
		if needed.value == "" {
			all.wrongf(at, "%s is missing", needed.key)
		}
	}
	given := 0
	for _, proof := range []string{a.ClientSecret, a.ClientSecretFile, a.TokenFile} {
		if proof != "" {
			given++
		}
	}
	if given != 1 {
		all.wrongf(at, "expected one of client_secret, client_secret_file and token_file, got %d", given)
	}
	checkIssuer(all, at+".authority", a.Authority)
}

func (a *ManagedIdentityAuth) check(*checks, string) {}

func (a *GoogleAuth) check(all *checks, at string) {
	if a.CredentialsFile != "" && a.Metadata {
		all.wrongf(at+".metadata", "credentials_file and metadata exclude each other")
	}
}

func (a *AWSAuth) check(all *checks, at string) {
	source := a.SourceOrDefault()
	if !slices.Contains(AWSSources, source) {
		all.wrongf(at+".source", "%q is no source; one of %s%s", source, strings.Join(AWSSources, ", "), strict.Meant(source, AWSSources))
		return
	}
	for _, s := range []struct{ key, value, of string }{
		{"access_key_id", a.AccessKeyID, "keys"}, {"secret_access_key", a.SecretAccessKey, "keys"}, {"session_token", a.SessionToken, "keys"},
		{"role_arn", a.RoleARN, "web_identity"}, {"token_file", a.TokenFile, "web_identity"}, {"profile", a.Profile, "profile"},
	} {
		if s.value != "" && s.of != source {
			all.wrongf(at+"."+s.key, "it takes effect with source: %s only, and the source is %s", s.of, source)
		}
	}
	if source == "keys" && (a.AccessKeyID == "" || a.SecretAccessKey == "") {
		all.wrongf(at, "source keys needs access_key_id and secret_access_key")
	}
	if source == "profile" && a.Profile == "" {
		all.wrongf(at, "profile is missing: its name in AWS's shared files")
	}
}

func (a *CommandAuth) check(all *checks, at string) {
	if len(a.Run) == 0 || a.Run[0] == "" {
		all.wrongf(at, "run is missing: the program and its arguments, as in [vault, print, token]")
	}
	if a.Lifetime < 0 {
		all.wrongf(at+".lifetime", "expected a time above 0")
	}
	if strings.Trim(strings.ToLower(a.Header), tokenCharacters) != "" {
		all.wrongf(at+".header", "%q cannot be sent as a header", a.Header)
	}
}

// CheckCommands refuses programs (auth.command) that a text has and the text before it has not, in the same words. A text
// that comes over a network decides by no other way what the server runs. The error is that of ParseAlone.
func CheckCommands(file string, text, before []byte) error {
	commands := func(c *Config) map[string][]string {
		runs := map[string][]string{}
		for name, u := range c.Upstreams {
			if u.Auth != nil && u.Auth.Command != nil {
				runs[name] = u.Auth.Command.Run
			}
		}
		return runs
	}
	known := map[string][]string{}
	if was, err := ParseAlone(file, before); err == nil {
		known = commands(was)
	}
	is, err := ParseAlone(file, text)
	if err != nil {
		return err
	}
	body, err := strict.Parse(file, text)
	problems := strict.NewProblems(file, body)
	for name, run := range commands(is) {
		if !slices.ContainsFunc(slices.Collect(maps.Values(known)), func(k []string) bool { return slices.Equal(k, run) }) {
			problems.Add(wrong("$.upstreams."+quoted(name)+".auth.command", "which programs the server runs is written on its host alone; keep the one that is there"))
		}
	}
	return cmp.Or(err, problems.Err())
}

// checkIssuer demands that a credential is asked for over TLS, but on this machine.
func checkIssuer(all *checks, at, address string) {
	if address == "" {
		return
	}
	issuer, err := url.Parse(address)
	if err != nil || badHost(issuer) != "" || issuer.Scheme != "https" && (issuer.Scheme != "http" || !isLoopback(issuer.Hostname())) {
		all.wrongf(at, "expected https://host")
	}
}

// isLoopback reports whether a host is this machine. A name that begins as an address does is
// anybody's.
func isLoopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}
