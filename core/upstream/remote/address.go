package remote

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/genway/genway/protocol"
)

// operations are those that an upstream is called for.
var operations = []protocol.Operation{protocol.Generate, protocol.Stream, protocol.Count, protocol.Draw, protocol.ListModels, protocol.Compact}

// address gives the URL of an operation with a model. The result must not be changed.
func (u *Upstream) address(op protocol.Operation, model string) *url.URL {
	if known := u.addresses[op]; known != nil {
		return known
	}
	return u.addressOf(op, model)
}

// addressOf makes a URL of the base, the version if one is to be added, the path of the operation, and
// the queries of the base, the configuration and the operation.
func (u *Upstream) addressOf(op protocol.Operation, model string) *url.URL {
	base := strings.TrimRight(u.base.EscapedPath(), "/")
	path, own := u.path(op, model)
	if version := u.version(base); version != "" && !own {
		path = "/" + version + path
	}
	address := *u.base
	address.RawPath, address.Path = "", base+path
	if unescaped, err := url.PathUnescape(address.Path); err == nil && unescaped != address.Path {
		address.RawPath, address.Path = address.Path, unescaped
	}
	query := []string{u.base.RawQuery}
	for _, name := range slices.Sorted(maps.Keys(u.config.Query)) {
		query = append(query, url.QueryEscape(name)+"="+url.QueryEscape(u.config.Query[name]))
	}
	if framing := u.protocol.Stream.Query; op == protocol.Stream && framing.Name != "" {
		query = append(query, framing.Name+"="+framing.Value)
	}
	address.RawQuery = strings.Join(slices.DeleteFunc(query, func(q string) bool { return q == "" }), "&")
	return &address
}

// path gives the path of an operation, which follows that of the base and the version and begins with
// a slash. own means that it is configured, or of the provider: then no version is added.
func (u *Upstream) path(op protocol.Operation, model string) (path string, own bool) {
	if own = u.config.Path != ""; own {
		path = "/" + strings.Trim(u.config.Path, "/")
		if path == "/" {
			path = ""
		}
	}
	if path, known := u.placePath(op, model); known {
		return path, true
	}
	_, generic, verb := u.protocol.UpstreamPath(op)
	if u.protocol.NamesModelInPath() {
		if !own {
			path = generic
		}
		if op != protocol.ListModels {
			path += "/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + verb
		}
		return path, own
	}
	if op == protocol.ListModels {
		return "/models", false
	}
	if !own {
		return generic, false
	}
	return path + u.protocol.Subpath(op), true
}

// version gives the version that is put between the base and a path of the protocol;
// empty for none. It is never put behind a base that has a version already, and behind
// one with a path only where the protocol's SDKs do so.
func (u *Upstream) version(base string) string {
	if hasVersion(base) || base != "" && !u.protocol.Upstream.VersionBehindPath {
		return ""
	}
	version, _, _ := u.protocol.UpstreamPath(protocol.Generate)
	return version
}

// hasVersion reports whether a path has a version as a segment: v1, v1beta, v4.
func hasVersion(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if len(segment) >= 2 && segment[0] == 'v' && segment[1] >= '0' && segment[1] <= '9' {
			return true
		}
	}
	return false
}

// URL gives the URL that is called for a unary answer of a model, with its credentials redacted.
func (u *Upstream) URL(model string) string {
	address := *u.addressOf(protocol.Generate, model)
	var shown []string
	for pair := range strings.SplitSeq(address.RawQuery, "&") {
		if name, value, _ := strings.Cut(pair, "="); value != "" && isSecret(name) {
			pair = name + "=" + redacted
		}
		shown = append(shown, pair)
	}
	address.RawQuery = strings.Join(shown, "&")
	return address.Redacted()
}
