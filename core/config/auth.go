package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/genway/genway/core/config/strict"
)

// Auth says how an upstream's credential is obtained, in place of a key that stays the same.
// One of its members is given; an empty mapping ({}) takes that member's defaults.
type Auth struct {
	// Entra is an application's identity in Microsoft Entra ID.
	Entra *EntraAuth `yaml:"entra,omitempty" json:"entra,omitempty" jsonschema_description:"An application's identity in Microsoft Entra ID: a client secret, or the token file of a workload identity."`
	// ManagedIdentity is the identity of the machine or the app in Azure.
	ManagedIdentity *ManagedIdentityAuth `yaml:"managed_identity,omitempty" json:"managed_identity,omitempty" jsonschema_description:"The identity that Azure gives to the machine or the app."`
	// Google are credentials of Google Cloud.
	Google *GoogleAuth `yaml:"google,omitempty" json:"google,omitempty" jsonschema_description:"Credentials of Google Cloud; {} takes the application default credentials."`
	// AWS are the keys that requests are signed with (Signature Version 4).
	AWS *AWSAuth `yaml:"aws,omitempty" json:"aws,omitempty" jsonschema_description:"Keys of AWS, with which requests are signed; {} looks for them where AWS's SDKs do."`
	// Command is a program that prints a token.
	Command *CommandAuth `yaml:"command,omitempty" json:"command,omitempty" jsonschema_description:"A program that prints a token."`
}

// EntraAuth is an application in Microsoft Entra ID.
type EntraAuth struct {
	// Tenant and ClientID name the application. Required.
	Tenant   string `yaml:"tenant" json:"tenant" jsonschema_description:"The tenant's id or domain."`
	ClientID string `yaml:"client_id" json:"client_id" jsonschema_description:"The application's id."`
	// One of these proves it.
	ClientSecret     string `yaml:"client_secret,omitempty" json:"client_secret,omitempty" jsonschema_description:"The client secret, best as ${NAME} from the environment."`
	ClientSecretFile string `yaml:"client_secret_file,omitempty" json:"client_secret_file,omitempty" jsonschema_description:"A file with the client secret, read for each token."`
	TokenFile        string `yaml:"token_file,omitempty" json:"token_file,omitempty" jsonschema_description:"A file with the token of a federated identity, read for each token: AZURE_FEDERATED_TOKEN_FILE of a workload identity."`
	// Scope is what tokens are for. Default: the provider's, else the scope of Azure OpenAI.
	Scope string `yaml:"scope,omitempty" json:"scope,omitempty" jsonschema_description:"What the tokens are for; default: the provider's, else https://cognitiveservices.azure.com/.default."`
	// Authority is the address of the directory. Default: the public cloud's.
	Authority string `yaml:"authority,omitempty" json:"authority,omitempty" jsonschema_description:"The address of the directory, for sovereign clouds; default https://login.microsoftonline.com."`
}

// ManagedIdentityAuth is the identity of a machine or an app in Azure.
type ManagedIdentityAuth struct {
	ClientID string `yaml:"client_id,omitempty" json:"client_id,omitempty" jsonschema_description:"The id of a user-assigned identity; without it, the system-assigned one."`
	Scope    string `yaml:"scope,omitempty" json:"scope,omitempty" jsonschema_description:"What the tokens are for; default: the provider's, else https://cognitiveservices.azure.com/.default."`
}

// GoogleAuth are credentials of Google Cloud.
type GoogleAuth struct {
	// CredentialsFile is a file of one of Google's types. Default: application default
	// credentials.
	CredentialsFile string `yaml:"credentials_file,omitempty" json:"credentials_file,omitempty" jsonschema_description:"A service account's key, a user's credentials or the configuration of workload identity federation; without it, the application default credentials."`
	// Metadata asks only the metadata server.
	Metadata bool `yaml:"metadata,omitempty" json:"metadata,omitempty" jsonschema_description:"Ask only the metadata server."`
}

// AWSSources are the words of AWSAuth.Source.
var AWSSources = []string{"chain", "keys", "environment", "profile", "web_identity", "pod_identity", "instance"}

// AWSAuth says where the keys of AWS are.
type AWSAuth struct {
	// Source is one of AWSSources. Default chain; keys, profile and web_identity where the keys
	// below say so.
	Source          string `yaml:"source,omitempty" json:"source,omitempty" jsonschema:"enum=chain,enum=keys,enum=environment,enum=profile,enum=web_identity,enum=pod_identity,enum=instance" jsonschema_description:"Where the keys are; default: where AWS's SDKs look (chain)."`
	Profile         string `yaml:"profile,omitempty" json:"profile,omitempty" jsonschema_description:"A profile of AWS's shared files."`
	AccessKeyID     string `yaml:"access_key_id,omitempty" json:"access_key_id,omitempty" jsonschema_description:"For source keys."`
	SecretAccessKey string `yaml:"secret_access_key,omitempty" json:"secret_access_key,omitempty" jsonschema_description:"For source keys, best as ${NAME} from the environment."`
	SessionToken    string `yaml:"session_token,omitempty" json:"session_token,omitempty" jsonschema_description:"For source keys, if they are temporary."`
	RoleARN         string `yaml:"role_arn,omitempty" json:"role_arn,omitempty" jsonschema_description:"For source web_identity: the role; default AWS_ROLE_ARN."`
	TokenFile       string `yaml:"token_file,omitempty" json:"token_file,omitempty" jsonschema_description:"For source web_identity: the file with the token; default AWS_WEB_IDENTITY_TOKEN_FILE."`
	// Region and Service are what signatures are for. Default: the upstream's region, and the
	// provider's service.
	Region  string `yaml:"region,omitempty" json:"region,omitempty" jsonschema_description:"The region that signatures are for; default: the upstream's."`
	Service string `yaml:"service,omitempty" json:"service,omitempty" jsonschema_description:"The service that signatures are for; default: the provider's."`
}

// SourceOrDefault is the source, also where other keys say it.
func (a *AWSAuth) SourceOrDefault() string {
	switch {
	case a.Source != "":
		return a.Source
	case a.AccessKeyID != "":
		return "keys"
	case a.RoleARN != "" || a.TokenFile != "":
		return "web_identity"
	case a.Profile != "":
		return "profile"
	}
	return "chain"
}

// CommandAuth is a program that prints a token.
type CommandAuth struct {
	// Run are the program and its arguments. Required.
	Run []string `yaml:"run" json:"run" jsonschema:"minItems=1" jsonschema_description:"The program and its arguments; no shell is between. It prints the token, an ExecCredential as kubectl's plugins do, or password= and password_expiry_utc= as git credential does."`
	// Lifetime is how long a token is used that is printed without its end. Default 5m.
	Lifetime Duration `yaml:"lifetime,omitempty" json:"lifetime,omitempty" jsonschema:"type=string" jsonschema_description:"How long a token is used that is printed without its end; default 5m."`
	// Header is where the token goes. Default Authorization, after Bearer.
	Header string `yaml:"header,omitempty" json:"header,omitempty" jsonschema_description:"The header that has the token and nothing else; default Authorization, where the token follows Bearer."`
}

// authWay is a member of Auth that is given: its key, and what checks it.
type authWay struct {
	key   string
	check func(all *checks, at string)
}

// ways are the members that are given.
func (a *Auth) ways() []authWay {
	var given []authWay
	if a.Entra != nil {
		given = append(given, authWay{"entra", a.Entra.check})
	}
	if a.ManagedIdentity != nil {
		given = append(given, authWay{"managed_identity", a.ManagedIdentity.check})
	}
	if a.Google != nil {
		given = append(given, authWay{"google", a.Google.check})
	}
	if a.AWS != nil {
		given = append(given, authWay{"aws", a.AWS.check})
	}
	if a.Command != nil {
		given = append(given, authWay{"command", a.Command.check})
	}
	return given
}

// Way is the key of the member that is given; empty for none.
func (a *Auth) Way() string {
	if a == nil {
		return ""
	}
	for _, w := range a.ways() {
		return w.key
	}
	return ""
}

// files are the files that it names, whose paths begin beside the configuration.
func (a *Auth) files() []*string {
	var files []*string
	if a == nil {
		return nil
	}
	if a.Entra != nil {
		files = append(files, &a.Entra.ClientSecretFile, &a.Entra.TokenFile)
	}
	if a.Google != nil {
		files = append(files, &a.Google.CredentialsFile)
	}
	if a.AWS != nil {
		files = append(files, &a.AWS.TokenFile)
	}
	return files
}

// AuthName is the credential of an upstream in the words of the file: "auth.aws of upstream x".
func (u Upstream) AuthName(name string) string {
	return fmt.Sprintf("auth.%s of upstream %s", u.Auth.Way(), name)
}

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
// that comes over a network decides by no other way what the server runs. The error is as in ParseAlone.
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
