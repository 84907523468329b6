package remote

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// SetAPIKey has calls that begin from now on use another key.
func (u *Upstream) SetAPIKey(key string) { u.useKeys(key, (*u.keys.Load())[0]) }

// useKeys has the first key used. The others are kept from callers as the first is: calls
// that began with them go on.
func (u *Upstream) useKeys(keys ...string) {
	config := u.config
	config.APIKey = keys[0]
	own := config.ownHeaders(u.protocol)
	u.own.Store(&own)
	u.keys.Store(&keys)
}

// ownHeaders are those of every call: ours, then the operator's.
func (c *Config) ownHeaders(p *protocol.Protocol) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "genway")
	if c.APIKey != "" {
		c.setKey(h, p)
	}
	if version := p.Version; len(version.Headers) > 0 && !c.versionInBody(p) {
		h.Set(version.Headers[0], cmp.Or(c.Version, version.Oldest))
	}
	for name, value := range c.Headers {
		h.Set(name, value)
	}
	return h
}

// headers are a call's: those of every call, and where the upstream speaks the caller's
// protocol, those that came with its body, unless the operator sets them or says the version
// that they name. They are not to be changed, as no transport may.
func (u *Upstream) headers(wire *genwayv1.WireMessage) http.Header {
	h := *u.own.Load()
	if len(wire.GetHeaders()) == 0 || !u.speaks(wire) {
		return h
	}
	for _, name := range u.protocol.PassedHeaders {
		value, sent := wire.GetHeaders()[name]
		if sent && !u.operators(name) && !(u.config.Version != "" && slices.Contains(u.protocol.Version.Headers, name)) {
			h = maps.Clone(h)
			h.Set(name, value)
		}
	}
	return h
}

// operators reports whether the operator sets a header.
func (u *Upstream) operators(name string) bool {
	for set := range u.config.Headers {
		if strings.EqualFold(set, name) {
			return true
		}
	}
	return false
}

// note leaves the headers of an answer that a caller of the upstream's protocol may
// read, and for every caller the upstream's name of the call.
func (u *Upstream) note(ctx context.Context, h http.Header, wire *genwayv1.WireMessage) {
	var found map[string]string
	leave := func(name, value string) {
		if found == nil {
			found = map[string]string{}
		}
		found[name] = value
	}
	if id := requestID(h); printable(id) {
		leave("x-genway-upstream-request-id", id)
	}
	if u.speaks(wire) {
		for name, values := range h {
			if len(found) < maxAnswered && u.mayRead(name) && printable(values[0]) {
				leave(strings.ToLower(name), values[0])
			}
		}
	}
	call.Of(ctx).Headers = found
}

// mayRead reports whether a caller of the upstream's protocol may read a header.
func (u *Upstream) mayRead(name string) bool {
	return protocol.NamesHeader(u.protocol.AnswerHeaders, name) || u.config.Place != nil && protocol.NamesHeader(u.config.Place.Headers, name)
}

// maxAnswered bounds how many there are: every proxy on the way bounds headers.
const maxAnswered = 32

// printable reports whether a value is short and plain enough to be passed on.
func printable(value string) bool {
	if value == "" || len(value) > 128 {
		return false
	}
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7e {
			return false
		}
	}
	return true
}
