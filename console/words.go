package console

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// contract is the name of direct calls, and of the contract's text in the playground.
const contract = "grpc"

// protocolName returns a protocol as URLs, bodies and people have it: its name in the contract in lower case, without
// the prefix, or grpc. Empty for nil.
func protocolName(p *genwayv1.Protocol) string {
	switch {
	case p == nil:
		return ""
	case *p == genwayv1.Protocol_PROTOCOL_UNSPECIFIED:
		return contract
	default:
		return strings.ToLower(strings.TrimPrefix(p.String(), "PROTOCOL_"))
	}
}

// protocolNames is protocolName of each.
func protocolNames(list []genwayv1.Protocol) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = protocolName(&list[i])
	}
	return names
}

// spoken is the protocolName of what an upstream speaks; empty for the contract's messages.
func spoken(p genwayv1.Protocol) string {
	if p == genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		return ""
	}
	return protocolName(&p)
}

// protocolNamed returns the protocol with that protocolName, PROTOCOL_UNSPECIFIED for an empty one, and for a name that
// there is not -1, which the core refuses.
func protocolNamed(name string) genwayv1.Protocol {
	if name == contract || name == "" {
		return genwayv1.Protocol_PROTOCOL_UNSPECIFIED
	}
	if p, ok := genwayv1.Protocol_value["PROTOCOL_"+strings.ToUpper(name)]; ok {
		return genwayv1.Protocol(p)
	}
	return -1
}

// kindName returns the kind of a fault as URLs and people have it: rate_limited. Empty for none.
func kindName(k genwayv1.ErrorKind) string {
	if k == genwayv1.ErrorKind_ERROR_KIND_UNSPECIFIED {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(k.String(), "ERROR_KIND_"))
}
