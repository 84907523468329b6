package remote

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/protocol"
	"github.com/go-json-experiment/json/jsontext"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// placePath gives the path of an operation at the upstream's provider, if it differs from that of the
// protocol.
func (u *Upstream) placePath(op protocol.Operation, model string) (string, bool) {
	e := u.config.Place
	if e == nil {
		return "", false
	}
	path := map[protocol.Operation]string{protocol.Generate: e.Generate, protocol.Stream: e.Stream, protocol.Count: e.Count}[op]
	if path == "" {
		return "", false
	}
	escaped := url.PathEscape(model)
	if e.EventStream {
		// AWS escapes all but the unreserved characters (RFC 3986, 2.3).
		escaped = strings.ReplaceAll(url.QueryEscape(model), "+", "%20")
	}
	return strings.ReplaceAll(path, "{model}", escaped), true
}

// namesModelInPath reports whether the address depends on the model.
func (u *Upstream) namesModelInPath() bool {
	return u.protocol.NamesModelInPath() || u.config.Place != nil && u.config.Place.Generate != ""
}

// setKey sets the key in the header of the provider, or else of the protocol.
func (c *Config) setKey(h http.Header, p *protocol.Protocol) {
	name := ""
	if own := p.Key.Headers; len(own) > 0 {
		name = own[0]
	}
	if c.Place != nil && c.Place.KeyHeader != "" {
		name = c.Place.KeyHeader
	}
	if name == "" || name == "Authorization" {
		h.Set("Authorization", "Bearer "+c.APIKey)
		return
	}
	h.Set(name, c.APIKey)
}

const betaHeader = "Anthropic-Beta"

// placed gives the body as the provider takes it: with the version, and without the members that
// its path has.
func (u *Upstream) placed(op protocol.Operation, body []byte, wire *genwayv1.WireMessage) ([]byte, error) {
	e := u.config.Place
	if e == nil || e.Version == "" {
		return body, nil
	}
	var change []member.Member
	if op != protocol.Count {
		change = append(change, member.Member{Name: "model"})
	}
	if e.NoStream {
		change = append(change, member.Member{Name: "stream"})
	}
	if len(member.Value(body, "anthropic_version")) == 0 {
		version := e.Version
		if u.config.versionInBody(u.protocol) {
			version = u.config.Version
		}
		change = append(change, member.Member{Name: "anthropic_version", Value: jsontext.Value(`"` + version + `"`)})
	}
	if betas := u.headers(wire).Values(betaHeader); e.NoStream && len(betas) > 0 && len(member.Value(body, "anthropic_beta")) == 0 {
		list, err := betaList(betas)
		if err != nil {
			return nil, err
		}
		change = append(change, member.Member{Name: "anthropic_beta", Value: list})
	}
	return member.Patch(body, change...)
}

// versionInBody reports whether the version is sent only in the body: providers have names of their
// own only for the oldest version.
func (c *Config) versionInBody(p *protocol.Protocol) bool {
	return c.Place != nil && c.Place.Version != "" && c.Version > p.Version.Oldest
}

// betaList gives the names in headers anthropic-beta as a JSON array.
func betaList(values []string) (jsontext.Value, error) {
	list := []byte{'['}
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			if len(list) > 1 {
				list = append(list, ',')
			}
			var err error
			if list, err = jsontext.AppendQuote(list, name); err != nil {
				return nil, fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "the header anthropic-beta is malformed")
			}
		}
	}
	return append(list, ']'), nil
}
