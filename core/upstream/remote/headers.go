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

// SetAPIKey sets the key of calls that begin from now on.
func (u *Upstream) SetAPIKey(key string) { u.useKeys(key, (*u.keys.Load())[0]) }

// useKeys sets the key to the first. The others are redacted as it is, since calls that began with
// them are still in flight.
func (u *Upstream) useKeys(keys ...string) {
	config := u.config
	config.APIKey = keys[0]
	own := config.ownHeaders(u.protocol)
	u.own.Store(&own)
	u.keys.Store(&keys)
	u.setAccount(keys[0])
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

// headers gives the headers of a call: those of every call, and if the upstream speaks the caller's
// protocol, those that came with the caller's body, unless the configuration sets them or the version
// that they name. The result must not be changed.
func (u *Upstream) headers(wire *genwayv1.WireMessage) http.Header {
	h := *u.own.Load()
	if len(wire.GetHeaders()) == 0 || !u.speaks(wire) {
		return h
	}
	own := true
	for name, value := range wire.GetHeaders() {
		if !protocol.NamesHeader(u.protocol.PassedHeaders, name) || u.operators(name) || u.config.Version != "" && slices.Contains(u.protocol.Version.Headers, name) {
			continue
		}
		if u.config.Place != nil && u.config.Place.Version != "" && !slices.Contains(placed, name) {
			continue
		}
		if own {
			h, own = maps.Clone(h), false
		}
		h.Set(name, value)
	}
	return h
}

// placed are the passed headers that a place knows whose API is not the vendor's own, as Vertex AI.
var placed = []string{"anthropic-beta", "anthropic-version"}

// operators reports whether the operator sets a header.
func (u *Upstream) operators(name string) bool {
	for set := range u.config.Headers {
		if strings.EqualFold(set, name) {
			return true
		}
	}
	return false
}

// note puts headers of an answer into the call record: the upstream's request id, and for a caller
// of the upstream's protocol those that it may read.
func (u *Upstream) note(ctx context.Context, h http.Header, wire *genwayv1.WireMessage) {
	var found map[string]string
	add := func(name, value string) {
		if found == nil {
			found = map[string]string{}
		}
		found[name] = value
	}
	if id := requestID(h); printable(id) {
		add("x-genway-upstream-request-id", id)
	}
	if u.speaks(wire) {
		for name, values := range h {
			if len(found) < maxAnswered && u.mayRead(name) && printable(values[0]) {
				add(strings.ToLower(name), values[0])
			}
		}
	}
	record := call.Of(ctx)
	record.Headers, record.ServedTier = found, h.Get(servedTier)
}

// servedTier is the header in which the Gemini API says which service tier has served an answer.
const servedTier = "X-Gemini-Service-Tier"

// mayRead reports whether a caller of the upstream's protocol may read a header.
func (u *Upstream) mayRead(name string) bool {
	return protocol.NamesHeader(u.protocol.AnswerHeaders, name) || u.config.Place != nil && protocol.NamesHeader(u.config.Place.Headers, name)
}

// maxAnswered is the most headers that note takes, since every proxy on the way bounds headers.
const maxAnswered = 32

// printable reports whether a value has at most 128 characters, all of printable ASCII.
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
