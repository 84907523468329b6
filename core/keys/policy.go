package keys

import (
	"net/netip"
	"slices"

	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/glob"
	"github.com/genway/genway/core/limit"
)

// A Policy is what a key may do. The zero value may do everything its group may.
// A nil *Policy is a zero one. Stores keep it as JSON with the names below.
type Policy struct {
	// Models are the models the key may name, as callers name them: names, or globs
	// in which each * stands for any run of characters. Empty is all.
	Models []string `json:"models,omitzero"`
	// Addresses are where callers may call from: masked, and never IPv4-mapped.
	// Empty is anywhere.
	Addresses []netip.Prefix `json:"addresses,omitzero"`
	// Certificates are the client certificates of which callers must show one, as
	// ParseCertificate gives them. Empty asks for none.
	Certificates []string `json:"certificates,omitzero"`
	// Limits bound the rate and the spending.
	Limits limit.Limits `json:"limits,omitzero"`
	// Priority says whether the key's requests are refused ahead of others when there are
	// more than can be served: PriorityBatch; empty is interactive.
	Priority string `json:"priority,omitzero"`
	// Strict has a request refused that would lose a member on its way to the
	// upstream's protocol, instead of the loss being named in the answer.
	Strict bool `json:"strict,omitzero"`
	// ReadOnly has a key of the group admin change nothing: the Admin service refuses it
	// every method but those that read.
	ReadOnly bool `json:"read_only,omitzero"`
	// Capture says which of the key's requests have their bodies captured; nil asks for none.
	Capture *capture.Rule `json:"capture,omitzero"`
	// ReadCaptures has a key of the group admin read captured bodies. No other key does, whatever
	// else it may do.
	ReadCaptures bool `json:"read_captures,omitzero"`
}

// PriorityBatch is the priority of keys whose requests can wait.
const PriorityBatch = "batch"

// AllowsModel reports whether the key may name that model.
func (p *Policy) AllowsModel(name string) bool {
	return p == nil || len(p.Models) == 0 ||
		slices.ContainsFunc(p.Models, func(pattern string) bool { return glob.Match(pattern, name) })
}

// AllowsAddress reports whether a caller may call from that address. An IPv4 address
// in its IPv6 form is an IPv4 address, a zone does not count, and an address that is
// not known, the zero Addr, is allowed only where every one is.
func (p *Policy) AllowsAddress(addr netip.Addr) bool {
	if p == nil || len(p.Addresses) == 0 {
		return true
	}
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(p.Addresses, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}
