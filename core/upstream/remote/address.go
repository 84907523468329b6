package remote

import (
	"net/url"
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

	operations // how many there are
)

// address is that of an operation on a model. It is not to be changed.
func (u *Upstream) address(op operation, model string) *url.URL {
	if known := u.addresses[op]; known != nil {
		return known
	}
	return u.addressOf(op, model)
}

func (u *Upstream) addressOf(op operation, model string) *url.URL {
	version, query := "v1", ""
	var path string
	switch u.config.Protocol {
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS:
		path = "chat/completions"
	case genwayv1.Protocol_PROTOCOL_RESPONSES:
		path = "responses"
		if op == count {
			path = "responses/input_tokens"
		}
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		path = "messages"
		if op == count {
			path = "messages/count_tokens"
		}
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		version = "v1beta"
		path = "models/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + ":" + map[operation]string{
			generate: "generateContent", stream: "streamGenerateContent", count: "countTokens"}[op]
		if op == stream {
			query = "alt=sse"
		}
	default:
		path = "images/generations"
	}
	if op == list {
		path = "models"
	}
	address := *u.base
	address.RawQuery = query
	base := strings.TrimRight(address.Path, "/")
	if !hasVersion(base) {
		base += "/" + version
	}
	address.Path = base + "/" + path
	if unescaped, err := url.PathUnescape(address.Path); err == nil && unescaped != address.Path {
		address.RawPath, address.Path = address.Path, unescaped
	}
	return &address
}

// hasVersion reports whether a base path ends in a version segment (v1, v1beta,
// v4), so that none is added.
func hasVersion(base string) bool {
	last := base[strings.LastIndexByte(base, '/')+1:]
	return len(last) >= 2 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9'
}
