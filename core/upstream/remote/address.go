package remote

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// operation is what is asked of the upstream.
type operation int

const (
	generate operation = iota
	stream
	count
	draw
	list
	compact

	operations // how many there are
)

// address is that of an operation on a model. It is not to be changed.
func (u *Upstream) address(op operation, model string) *url.URL {
	if known := u.addresses[op]; known != nil {
		return known
	}
	return u.addressOf(op, model)
}

// addressOf makes an address: the base, a version where one is wanted, the path of the
// operation, and the queries of the base, the operator and the operation.
func (u *Upstream) addressOf(op operation, model string) *url.URL {
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
	if op == stream && u.config.Protocol == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT {
		query = append(query, "alt=sse")
	}
	address.RawQuery = strings.Join(slices.DeleteFunc(query, func(q string) bool { return q == "" }), "&")
	return &address
}

// path gives the path of an operation behind the base's and the version, with a slash in
// front, and whether it is the operator's own, which has no version.
func (u *Upstream) path(op operation, model string) (path string, own bool) {
	if own = u.config.Path != ""; own {
		path = "/" + strings.Trim(u.config.Path, "/")
		if path == "/" {
			path = ""
		}
	}
	if u.config.Protocol == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT {
		if !own {
			path = "/models"
		}
		if op != list {
			path += "/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + ":" + methods[op]
		}
		return path, own
	}
	if op == list {
		return "/models", false
	}
	if !own {
		path = paths[u.config.Protocol]
	}
	if op == count {
		path += counters[u.config.Protocol]
	}
	if op == compact {
		path += "/compact"
	}
	return path, own
}

// What the protocols call their operations.
var (
	paths = map[genwayv1.Protocol]string{
		genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: "/chat/completions",
		genwayv1.Protocol_PROTOCOL_RESPONSES:        "/responses",
		genwayv1.Protocol_PROTOCOL_MESSAGES:         "/messages",
		genwayv1.Protocol_PROTOCOL_IMAGES:           "/images/generations",
	}
	counters = map[genwayv1.Protocol]string{
		genwayv1.Protocol_PROTOCOL_RESPONSES: "/input_tokens",
		genwayv1.Protocol_PROTOCOL_MESSAGES:  "/count_tokens",
	}
	methods = map[operation]string{generate: "generateContent", stream: "streamGenerateContent", count: "countTokens"}
)

// version gives the version that is put between the base and a path of the protocol;
// empty for none. The SDKs of messages and generateContent put it behind any base, as in
// https://host/anthropic; here not behind one that has a version already. Those of the
// other protocols put none; here the host alone has one put behind it.
func (u *Upstream) version(base string) string {
	switch u.config.Protocol {
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		if !hasVersion(base) {
			return "v1"
		}
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		if !hasVersion(base) {
			return "v1beta"
		}
	default:
		if base == "" {
			return "v1"
		}
	}
	return ""
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

// URL shows what is called for a unary answer of a model, without the credentials in it.
func (u *Upstream) URL(model string) string {
	address := *u.addressOf(generate, model)
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
