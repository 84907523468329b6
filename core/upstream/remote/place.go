package remote

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/upstream/provider"
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
	if betas, _ := u.betas(wire, body); e.NoStream && len(betas) > 0 && len(member.Value(body, "anthropic_beta")) == 0 {
		list := []byte{'['}
		for i, name := range betas {
			if i > 0 {
				list = append(list, ',')
			}
			var err error
			if list, err = jsontext.AppendQuote(list, name); err != nil {
				return nil, fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "the header anthropic-beta is malformed")
			}
		}
		change = append(change, member.Member{Name: "anthropic_beta", Value: append(list, ']')})
	}
	return member.Patch(body, change...)
}

// betas are the names of betas that a call announces, as the provider has them. own says that they are those
// of the caller's header.
func (u *Upstream) betas(wire *genwayv1.WireMessage, body []byte) (names []string, own bool) {
	own = true
	announce := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, value := range u.headers(wire).Values(betaHeader) {
		for name := range strings.SplitSeq(value, ",") {
			name = strings.TrimSpace(name)
			as := name
			if known := slices.IndexFunc(u.config.Place.Betas, func(b provider.Beta) bool { return b.Name == name }); known >= 0 {
				as = u.config.Place.Betas[known].As
			}
			announce(as)
			own = own && as == name
		}
	}
	for _, b := range u.config.Place.Betas {
		if b.As != "" && !slices.Contains(names, b.As) && slices.ContainsFunc(b.Members, func(path string) bool { return hasMember(body, path) }) {
			announce(b.As)
			own = false
		}
	}
	return names, own
}

// hasMember reports whether a body has a member of that path, a name or two joined by a dot.
func hasMember(body []byte, path string) bool {
	outer, inner, nested := strings.Cut(path, ".")
	value := member.Value(body, outer)
	if nested && len(value) > 0 && value[0] == '{' {
		value = member.Value(value, inner)
	} else if nested {
		value = nil
	}
	return len(value) > 0
}

// placeable returns a body as this upstream takes it, whatever made it: see withoutBetas and ownEncrypted.
func (u *Upstream) placeable(wire *genwayv1.WireMessage, body []byte, losses *codec.Losses) ([]byte, error) {
	return u.withoutBetas(wire, u.ownEncrypted(body, losses), losses)
}

// withoutBetas leaves out of a body what belongs to betas that the provider refuses, and names it, with the
// betas of the caller that are not announced.
func (u *Upstream) withoutBetas(wire *genwayv1.WireMessage, body []byte, losses *codec.Losses) ([]byte, error) {
	if u.config.Place == nil || len(u.config.Place.Betas) == 0 {
		return body, nil
	}
	const reason = "the provider of the upstream of this model does not take it"
	announced := strings.Join(u.headers(wire).Values(betaHeader), ",")
	var refused []string
	for _, b := range u.config.Place.Betas {
		if b.As != "" {
			continue
		}
		if strings.Contains(announced, b.Name) {
			refused = append(refused, b.Name)
		}
		for _, path := range b.Members {
			shorter := withoutMember(body, path)
			if len(shorter) == len(body) {
				continue
			}
			if value := member.Value(body, path); b.Type != "" && string(value) != "null" && member.Raw(member.Value(value, "type")).String() != b.Type {
				return nil, fault.Unsupported(path, "%s: %s", path, reason)
			}
			body = shorter
			losses.Add(strings.TrimPrefix(path, "*."), reason)
		}
	}
	if len(refused) > 0 {
		losses.Add("anthropic-beta", strings.Join(refused, ", ")+": "+reason)
	}
	return body, nil
}

// withoutMember leaves out the members of a path (see provider.Beta), and an object of which nothing is left.
func withoutMember(body []byte, path string) []byte {
	rest, anywhere := strings.CutPrefix(path, "*.")
	outer, inner, nested := strings.Cut(rest, ".")
	if !member.Mentions(body, outer) {
		return body
	}
	return member.Edit(body, func(depth int, name, value []byte) member.Change {
		switch {
		case string(name) == "input", string(name) == "input_schema": // the caller's own names
			return member.Change{With: value}
		case string(name) != outer || depth > 1 && !anywhere:
			return member.Change{}
		case !nested:
			return member.Change{Drop: true}
		}
		left := member.Edit(value, func(depth int, name, _ []byte) member.Change {
			return member.Change{Drop: depth == 1 && string(name) == inner}
		})
		return member.Change{With: left, Drop: len(left) < len(value) && len(bytes.TrimSpace(left[1:len(left)-1])) == 0}
	})
}

// versionInBody reports whether the version is sent only in the body: providers have names of their
// own only for the oldest version.
func (c *Config) versionInBody(p *protocol.Protocol) bool {
	return c.Place != nil && c.Place.Version != "" && c.Version > p.Version.Oldest
}
