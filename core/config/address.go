package config

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/protocol"
)

// ownPaths returns the paths that are called behind a base, by kind.
func ownPaths(kind string) []string {
	var paths []string
	p := protocol.ByKind(kind)
	for _, b := range p.Bindings {
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
