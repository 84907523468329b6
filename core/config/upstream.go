package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/core/upstream/provider"
	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/protocol"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Place is the endpoint of the upstream's provider; nil for provider custom, without a
// provider, and for one that there is not.
func (u Upstream) Place() *provider.Endpoint {
	p := provider.Find(u.Provider)
	if p == nil {
		return nil
	}
	e, _ := p.Endpoint(u.Kind, u.Endpoint)
	return e
}

// Everything is the word for an upstream that takes whatever the protocol has.
const Everything = "everything"

// Dialect is what the upstream takes of chat completions, for requests that are translated:
// what its provider documents, or the least where none is known. It is nil for upstreams of
// other kinds, and for one that takes everything.
func (u Upstream) Dialect() *dialect.Chat {
	switch e := u.Place(); {
	case !u.hasDialects() || u.Takes == Everything:
		return nil
	case e == nil:
		return dialect.Least
	default:
		return e.Chat
	}
}

// Version is the version of its protocol that the upstream speaks; empty for the caller's. A
// place that has the version in bodies is called with one, and what came with a caller's body
// would not reach it.
func (u Upstream) Version() string {
	p := protocol.ByKind(u.Kind)
	if e := u.Place(); u.APIVersion == "" && p != nil && e != nil && e.Version != "" {
		return p.Version.Oldest
	}
	return u.APIVersion
}

// checkVersion demands a version that is known, and given once.
func (u Upstream) checkVersion(all *checks, at string) {
	p := protocol.ByKind(u.Kind)
	if u.APIVersion == "" || p == nil || len(p.Version.Known) == 0 {
		return
	}
	if known := p.Version.Known; !slices.Contains(known, u.APIVersion) {
		all.wrongf(at+".api_version", "%q is no version of %s; one of %s%s", u.APIVersion, u.Kind, strings.Join(known, ", "), strict.Meant(u.APIVersion, known))
	}
	for name, value := range u.Headers {
		if strings.EqualFold(name, p.Version.Headers[0]) && value != u.APIVersion {
			all.wrongf(at+".headers", "%s says %q beside api_version: leave the header out", name, value)
		}
	}
}

// hasDialects reports whether upstreams of the kind differ in what they take: those whose
// protocol asks for the usage of streams.
func (u Upstream) hasDialects() bool {
	p := protocol.ByKind(u.Kind)
	return p != nil && p.Upstream.AsksForUsage
}

// Traces reports whether the upstream gets the context of the caller's trace. Vendors do not
// by default: it has identifiers and the baggage of the caller's own systems.
func (u Upstream) Traces() bool {
	if u.Trace != nil {
		return *u.Trace
	}
	p := provider.Find(u.Provider)
	return u.Kind == "generation" || p != nil && p.Engine
}

// parameters are what the operator says for the address of a provider.
func (u Upstream) parameters() map[string]string {
	return map[string]string{"resource": u.Resource, "project": u.Project, "region": u.Region}
}

// settle sets the base_url of upstreams that have none, or only a host, to what their providers say.
func (c *Config) settle() {
	for name, u := range c.Upstreams {
		u.BaseURL = u.baseURL()
		if e := u.Place(); e != nil && !u.Dialect().Takes("stream_options") && u.StreamUsage == "" {
			u.StreamUsage = Leave
		}
		c.Upstreams[name] = u
	}
}

func (u Upstream) baseURL() string {
	e := u.Place()
	if e == nil || e.Base == "" {
		return u.BaseURL
	}
	for _, name := range e.Parameters() {
		if u.parameters()[name] == "" && (u.BaseURL == "" || strings.Contains(pathOf(e.Base), "{"+name+"}")) {
			return u.BaseURL // the checks report what is missing
		}
	}
	if u.BaseURL == "" || onlyHost(u.BaseURL) {
		return e.At(u.BaseURL, u.parameters())
	}
	return u.BaseURL
}

// checkProvider demands a provider that serves the kind, and all that its address needs.
// It reports whether there is an address to check.
func (u Upstream) checkProvider(all *checks, at string) bool {
	p := provider.Find(u.Provider)
	if p == nil {
		return u.checkCustom(all, at)
	}
	e, names := p.Endpoint(u.Kind, u.Endpoint)
	switch {
	case !slices.Contains(p.Kinds(), u.Kind):
		all.wrongf(at+".provider", "provider %s does not serve kind %s; it serves %s", p.Name, u.Kind, strings.Join(p.Kinds(), ", "))
		return false
	case e == nil && len(names) == 0:
		all.wrongf(at+".endpoint", "provider %s has one endpoint for kind %s; leave it out", p.Name, u.Kind)
		return false
	case e == nil:
		all.wrongf(at+".endpoint", "%q is no endpoint of provider %s for kind %s; one of %s%s", u.Endpoint, p.Name, u.Kind, strings.Join(names, ", "), strict.Meant(u.Endpoint, names))
		return false
	}
	if way := u.Auth.Way(); way != "" && way != "command" && len(p.Auth) > 0 && !slices.Contains(p.Auth, way) {
		all.wrongf(at+".auth."+way, "provider %s takes a key, command, or %s", p.Name, strings.Join(p.Auth, ", "))
	} else if way != "" && way != "command" && len(p.Auth) == 0 {
		all.wrongf(at+".auth."+way, "provider %s takes a key or command", p.Name)
	}
	if u.Models.Discover && e.NoList {
		all.wrongf(at+".models", "provider %s does not list its models there; write their names", p.Name)
	}
	if len(u.Path) > 0 && e.Generate != "" {
		all.wrongf(at+".path", "the paths of provider %s are known; leave it out", p.Name)
	}
	needed, missing := e.Parameters(), false
	for _, s := range []struct{ key, value string }{{"resource", u.Resource}, {"project", u.Project}, {"region", u.Region}} {
		switch needs := slices.Contains(needed, s.key); {
		case needs && s.value == "" && (u.BaseURL == "" || onlyHost(u.BaseURL) && strings.Contains(pathOf(e.Base), "{"+s.key+"}")):
			all.wrongf(at, "%s is missing: provider %s is at %s", s.key, p.Name, shownBase(e))
			missing = true
		case !needs && s.value != "" && (s.key != "region" || u.Auth.Way() != "aws"):
			all.wrongf(at+"."+s.key, "the address of provider %s for kind %s has none", p.Name, u.Kind)
		case s.value != "" && !label(s.value):
			all.wrongf(at+"."+s.key, "%q cannot be a part of an address", s.value)
			missing = true
		}
	}
	return !missing
}

// checkCustom demands that what only a provider has is not there without one.
func (u Upstream) checkCustom(all *checks, at string) bool {
	if names := provider.Names(); u.Provider != "" && u.Provider != provider.Custom {
		all.wrongf(at+".provider", "%q is no provider; one of %s%s", u.Provider, strings.Join(names, ", "), strict.Meant(u.Provider, names))
		return false
	}
	for _, s := range []struct{ key, value string }{{"endpoint", u.Endpoint}, {"resource", u.Resource}, {"project", u.Project}, {"region", u.Region}} {
		if s.value != "" {
			all.wrongf(at+"."+s.key, "it takes effect with a provider only")
		}
	}
	return true
}

// checkRegion demands a region for signatures.
func (u Upstream) checkRegion(all *checks, at string) {
	if a := u.Auth; a.Way() == "aws" && u.SigningRegion() == "" {
		all.wrongf(at+".auth.aws", "region is missing: the one that signatures are for")
	}
}

// SigningRegion is the region that signatures of AWS are for.
func (u Upstream) SigningRegion() string {
	if u.Auth.AWS.Region != "" {
		return u.Auth.AWS.Region
	}
	return u.Region
}

// shownBase is the template of an address, for people.
func shownBase(e *provider.Endpoint) string {
	return strings.ReplaceAll(e.Base, "{host}", e.Hosts[""])
}

func pathOf(base string) string {
	_, rest, _ := strings.Cut(base, "://")
	_, path, _ := strings.Cut(rest, "/")
	return path
}

func onlyHost(base string) bool {
	given, err := url.Parse(base)
	return err == nil && given.Host != "" && strings.Trim(given.Path, "/") == "" && given.RawQuery == "" && given.Fragment == ""
}

// label reports whether a text is letters, digits, dots, dashes and underscores, or a placeholder
// for a variable that is not known.
func label(text string) bool {
	return strings.Contains(text, "${") || strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789.-_:") == ""
}

// ownPaths returns the paths that are called below a base, by kind.
func ownPaths(kind string) []string {
	var paths []string
	p := protocol.ByKind(kind)
	for _, b := range p.Bindings {
		if b.Stored {
			continue
		}
		_, path, verb := p.UpstreamPath(b.Operation)
		paths = append(paths, cmp.Or(verb, path))
	}
	return paths
}

// badHost says what is wrong with the host and the port of an address; empty for nothing.
func badHost(address *url.URL) string {
	port, err := strconv.ParseUint(address.Port(), 10, 16)
	switch {
	case address.Hostname() == "":
		return "the host is missing"
	case strings.HasSuffix(address.Host, ":"):
		return "the port is missing behind the colon"
	case address.Port() != "" && (err != nil || port == 0):
		return "expected a port from 1 to 65535, got " + address.Port()
	}
	return ""
}

// checkAddress demands that base_url, path and query make the address that their writer
// has in mind. Addresses with a query or a user are not repeated: they may hold
// credentials.
func (u Upstream) checkAddress(all *checks, at string) {
	base, err := url.Parse(u.BaseURL)
	switch {
	case err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https"):
		if strings.ContainsAny(u.BaseURL, "?@") {
			all.wrongf(at+".base_url", "expected http(s)://host[/path]")
			return
		}
		all.wrongf(at+".base_url", "%q is no http(s) URL", u.BaseURL)
		return
	case base.Fragment != "" || strings.HasSuffix(u.BaseURL, "#"):
		all.wrongf(at+".base_url", "a fragment (#) is never sent; leave it out")
	}
	if wrong := badHost(base); wrong != "" {
		all.wrongf(at+".base_url", "%s", wrong)
	}
	if _, err := url.ParseQuery(base.RawQuery); err != nil {
		all.wrongf(at+".base_url", "its query is malformed; write it under query")
	}
	if u.Path == "" {
		path := strings.TrimRight(base.Path, "/")
		for _, own := range ownPaths(u.Kind) {
			if strings.HasSuffix(path, own) {
				all.wrongf(at+".base_url", "%s is called behind base_url; leave it out there, or write path: / to call base_url as it is", strings.TrimLeft(own, "/"))
				break
			}
		}
	}
	if _, err := url.PathUnescape(u.Path); err != nil || strings.ContainsAny(u.Path, "?# \t\r\n") || strings.Contains(u.Path, "://") {
		all.wrongf(at+".path", "expected a path, as in /openai/v2/chat; members of the query are written under query")
	}
	for _, name := range slices.Sorted(maps.Keys(u.Query)) {
		if name == "" {
			all.wrongf(at+".query", "a member without a name")
		}
		if base.Query().Has(name) {
			all.wrongf(at+".query", "%q is in the query of base_url, too", name)
		}
	}
}

// Leave is the policy of not asking a stream for its usage.
const Leave = "leave"

// Drain is the policy of a detached call: the answer is read on after its caller has left.
const Drain = "drain"

// checkSettings demands that each setting is one the kind has, and within its
// bounds: what would be ignored is not what its writer wants.
func (u Upstream) checkSettings(all *checks, at string) {
	p := protocol.ByKind(u.Kind)
	remote := p != nil
	for _, s := range []struct {
		key       string
		given, ok bool
	}{
		{"base_url", u.BaseURL != "", remote},
		{"provider", u.Provider != "", remote},
		{"endpoint", u.Endpoint != "", remote},
		{"resource", u.Resource != "", remote},
		{"project", u.Project != "", remote},
		{"region", u.Region != "", remote},
		{"path", u.Path != "", remote},
		{"query", len(u.Query) > 0, remote},
		{"tls", u.TLS, u.Kind == "generation"},
		{"api_key", u.APIKey != "", u.Kind != Sandbox},
		{"api_key_file", u.APIKeyFile != "", u.Kind != Sandbox},
		{"auth", u.Auth != nil, remote},
		{"proxy", u.Proxy != "", remote},
		{"ca_file", u.CAFile != "", u.Kind != Sandbox},
		{"cert_file", u.CertFile != "", u.Kind != Sandbox},
		{"key_file", u.KeyFile != "", u.Kind != Sandbox},
		{"headers", len(u.Headers) > 0, remote},
		{"first_byte", u.FirstByte != 0, u.Kind != Sandbox},
		{"idle", u.Idle != 0, u.Kind != Sandbox},
		{"deadline", u.Deadline != 0, u.Kind != Sandbox},
		{"models", u.Models.Discover, u.Kind != Sandbox}, // which lists its own anyway
		{"takes", u.Takes != "", remote && u.hasDialects()},
		{"api_version", u.APIVersion != "", remote && len(p.Version.Known) > 0},
		{"stream_usage", u.StreamUsage != "", remote && p.Upstream.AsksForUsage},
		{"on_cancel", u.OnCancel != "", u.Kind != Sandbox},
		{"drain_for", u.DrainFor != 0, u.Kind != Sandbox},
		{"max_concurrent", u.MaxConcurrent != 0, u.Kind != Sandbox},
		{"max_answer_bytes", u.MaxAnswerBytes != 0, u.Kind != Sandbox},
		{"concurrency", u.Concurrency != Concurrency{}, u.Kind != Sandbox},
		{"trace", u.Trace != nil, u.Kind != Sandbox},
		{"retries", u.Retries != 0, u.Kind != Sandbox},
		{"break_after", u.BreakAfter != 0, u.Kind != Sandbox},
		{"break_for", u.BreakFor != 0, u.Kind != Sandbox},
	} {
		if s.given && !s.ok {
			all.wrongf(at+"."+s.key, "an upstream of kind %s has none", u.Kind)
		}
	}
	u.checkCheck(all, at)
	if !sendable(u.APIKey) {
		all.wrongf(at+".api_key", "it holds more than one line, or characters that no header can hold")
	}
	if u.APIKey != "" && u.APIKeyFile != "" {
		all.wrongf(at+".api_key_file", "api_key and api_key_file exclude each other")
	}
	for _, s := range []struct {
		key           string
		given, lowest int
	}{
		{"max_concurrent", u.MaxConcurrent, 0}, {"retries", u.Retries, -1}, {"break_after", u.BreakAfter, -1},
	} {
		if s.given < s.lowest {
			all.wrongf(at+"."+s.key, "expected at least %d, got %d", s.lowest, s.given)
		}
	}
	if u.MaxAnswerBytes != 0 && (u.MaxAnswerBytes < 64<<10 || u.MaxAnswerBytes > 120<<20) {
		all.wrongf(at+".max_answer_bytes", "expected 65536 to 125829120 bytes, got %d", u.MaxAnswerBytes)
	}
	for _, s := range []struct {
		key   string
		given Duration
	}{
		{"first_byte", u.FirstByte}, {"idle", u.Idle}, {"deadline", u.Deadline}, {"drain_for", u.DrainFor}, {"break_for", u.BreakFor},
	} {
		if s.given < 0 {
			all.wrongf(at+"."+s.key, "expected a time above 0")
		}
	}
	if u.Takes != "" && u.Takes != "documented" && u.Takes != Everything {
		all.wrongf(at+".takes", "%q is no set of members; one of documented, everything%s", u.Takes, strict.Meant(u.Takes, []string{"documented", Everything}))
	}
	u.checkVersion(all, at)
	if u.StreamUsage != "" && u.StreamUsage != "ask" && u.StreamUsage != Leave {
		all.wrongf(at+".stream_usage", "%q is no policy; one of ask, leave%s", u.StreamUsage, strict.Meant(u.StreamUsage, []string{"ask", Leave}))
	}
	if u.OnCancel != "" && u.OnCancel != "cancel" && u.OnCancel != Drain {
		all.wrongf(at+".on_cancel", "%q is no policy; one of cancel, drain%s", u.OnCancel, strict.Meant(u.OnCancel, []string{"cancel", Drain}))
	}
	if u.DrainFor != 0 && u.OnCancel != Drain {
		all.wrongf(at+".drain_for", "it takes effect with on_cancel: drain only")
	}
	u.Models.check(all, at+".models")
	u.checkAuth(all, at)
	u.checkTransport(all, at)
	for _, name := range slices.Sorted(maps.Keys(u.Headers)) {
		if strings.Trim(strings.ToLower(name), tokenCharacters) != "" || name == "" || !sendable(u.Headers[name]) {
			all.wrongf(at+".headers", "%q cannot be sent as a header", name)
		}
	}
}

// Adapts reports whether a model gets fewer calls at once for a while when the upstream
// refuses many of them.
func (c Concurrency) Adapts() bool { return c.Adaptive == nil || *c.Adaptive }

// tokenCharacters are the characters of a header's name (RFC 9110), in lower case.
const tokenCharacters = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"

// NoProxy is the proxy that is none.
const NoProxy = "none"

var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// checkTransport demands that the way to the upstream is one.
func (u Upstream) checkTransport(all *checks, at string) {
	if u.Proxy != "" && u.Proxy != NoProxy {
		proxy, err := url.Parse(u.Proxy)
		if err != nil || proxy.Host == "" || !slices.Contains(proxySchemes, proxy.Scheme) {
			// The address may hold a password, so it is not repeated.
			all.wrongf(at+".proxy", "expected none, or %s://host:port", strings.Join(proxySchemes, "://, "))
		} else if wrong := badHost(proxy); wrong != "" {
			all.wrongf(at+".proxy", "%s", wrong)
		}
	}
	for _, s := range []struct{ key, file, needs, other string }{
		{"ca_file", u.CAFile, "", ""}, {"cert_file", u.CertFile, "key_file", u.KeyFile}, {"key_file", u.KeyFile, "cert_file", u.CertFile},
	} {
		if s.file == "" {
			continue
		}
		switch {
		case !u.encrypted() && u.Kind == "generation":
			all.wrongf(at+"."+s.key, "it takes effect with tls: true only")
		case !u.encrypted():
			all.wrongf(at+"."+s.key, "it takes effect with a base_url of https:// only")
		case s.needs != "" && s.other == "":
			all.wrongf(at+"."+s.key, "%s is missing", s.needs)
		}
	}
}

// encrypted reports whether connections to the upstream use TLS.
func (u Upstream) encrypted() bool {
	return u.TLS || strings.HasPrefix(strings.ToLower(u.BaseURL), "https:")
}

// checkCertificates reads the files that checkTransport has no objection to.
func (u Upstream) checkCertificates(all *checks, at string) {
	if !u.encrypted() || (u.CertFile == "") != (u.KeyFile == "") {
		return
	}
	if _, err := u.TLSConfig(); err != nil {
		key := "ca_file"
		if e := (*certificateError)(nil); errors.As(err, &e) {
			key = "cert_file"
		}
		all.add(strict.Because(err, at+"."+key, "%v", err))
	}
}

// certificateError is an error of the client certificate.
type certificateError struct{ error }

// TLSConfig returns how connections to the upstream are encrypted, as far as the file
// says; the files it names are read.
func (u Upstream) TLSConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if u.CAFile != "" {
		authorities, err := certs.ReadAuthorities(u.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		for _, authority := range authorities {
			config.RootCAs.AddCert(authority)
		}
	}
	if u.CertFile != "" {
		pair, err := certs.Pair{Cert: u.CertFile, Key: u.KeyFile}.Read()
		if err != nil {
			return nil, &certificateError{err}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// minCheck and maxCheck bound the time from one check to the next.
const minCheck, maxCheck = time.Second, time.Hour

// checkCheck demands a check that can be made.
func (u Upstream) checkCheck(all *checks, at string) {
	if u.Check == nil {
		return
	}
	switch every := time.Duration(u.Check.Every); {
	case u.Kind == Sandbox:
		all.wrongf(at+".check", "the sandbox is a part of the process: there is nothing to check")
	case every == 0:
		all.wrongf(at+".check", "every is missing: the time from one check to the next, as 30s")
	case every < minCheck || every > maxCheck:
		all.wrongf(at+".check.every", "expected %v to %v, got %v", minCheck, maxCheck, every)
	}
	if p := protocol.ByKind(u.Kind); p != nil && p.Images && u.Check.Model != "" {
		all.wrongf(at+".check.model", "a check draws no image; leave it out, and the upstream is asked for its list of models")
	}
	if e := u.Place(); e != nil && e.NoList && u.Check.Model == "" {
		all.wrongf(at+".check", "model is missing: provider %s does not list its models there", u.Provider)
	}
}

// Discover is the word of Upstream.Models for an upstream that is asked.
const Discover = "discover"

// maxModelName is the most bytes of a model's name that is listed.
const maxModelName = 256

// Models are the names that an upstream is listed with: a list, or the word discover. The
// zero value lists none.
type Models struct {
	// Discover has the upstream asked for its list; Names is empty then.
	Discover bool
	Names    []string
}

// UnmarshalYAML reads a list of names, or the word discover.
func (m *Models) UnmarshalYAML(node ast.Node) error {
	*m = Models{}
	switch n := node.(type) {
	case *ast.SequenceNode:
		return yaml.NodeToValue(n, &m.Names)
	case *ast.StringNode:
		if m.Discover = n.Value == Discover; m.Discover {
			return nil
		}
	}
	return &yaml.SyntaxError{Token: node.GetToken(), Message: "expected a list of names, as in [gpt-4o], or the word discover"}
}

// check demands names that a request can have.
func (m Models) check(all *checks, at string) {
	for i, name := range m.Names {
		if name == "" || len(name) > maxModelName {
			all.wrongf(fmt.Sprintf("%s[%d]", at, i), "expected a name of 1 to %d bytes, got one of %d", maxModelName, len(name))
		}
		for _, c := range name {
			if !unicode.IsPrint(c) {
				all.wrongf(fmt.Sprintf("%s[%d]", at, i), "%q has a character that cannot be shown", name)
				break
			}
		}
	}
}
