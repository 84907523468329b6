package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/core/upstream/provider"
	"github.com/genway/genway/protocol"
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

// label reports whether a text is letters, digits, dots, dashes and underscores, or stands
// for a variable that is not known.
func label(text string) bool {
	return strings.Contains(text, "${") || strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789.-_:") == ""
}
