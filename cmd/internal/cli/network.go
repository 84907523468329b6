package cli

import (
	"fmt"
	"net/netip"
)

// Network is a network of addresses as a flag spells it: 10.0.0.0/8, or an address, which is
// the network of only that address.
type Network struct{ netip.Prefix }

// UnmarshalText reads a network or an address. IPv4 addresses within IPv6 are IPv4.
func (n *Network) UnmarshalText(text []byte) error {
	if prefix, err := netip.ParsePrefix(string(text)); err == nil && !prefix.Addr().Is4In6() {
		n.Prefix = prefix.Masked()
		return nil
	}
	address, err := netip.ParseAddr(string(text))
	if err != nil || address.Zone() != "" {
		return fmt.Errorf("expected a network or an address, as 10.0.0.0/8, fd00::/8 or 10.0.0.1, got %q", text)
	}
	address = address.Unmap()
	n.Prefix = netip.PrefixFrom(address, address.BitLen())
	return nil
}

// Prefixes are the networks' prefixes.
func Prefixes(networks []Network) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, n := range networks {
		prefixes = append(prefixes, n.Prefix)
	}
	return prefixes
}
