package keys

import (
	"net/netip"
	"slices"

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
	// Limits bound the rate and the spending.
	Limits limit.Limits `json:"limits,omitzero"`
	// Strict has a request refused that would lose a member on its way to the
	// upstream's protocol, instead of the loss being named in the answer.
	Strict bool `json:"strict,omitzero"`
}

// AllowsModel reports whether the key may name that model.
func (p *Policy) AllowsModel(name string) bool {
	return p == nil || len(p.Models) == 0 ||
		slices.ContainsFunc(p.Models, func(pattern string) bool { return glob(pattern, name) })
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

// glob reports whether name is what pattern describes. It takes the length of one
// times the length of the other at worst, whatever the pattern.
func glob(pattern, name string) bool {
	// rest and from are where to go on when what follows the last * does not fit:
	// the * takes one character more.
	rest, from, p, n := -1, 0, 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			rest, from = p+1, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case rest >= 0:
			from++
			p, n = rest, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
