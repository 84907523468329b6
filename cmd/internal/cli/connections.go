package cli

import (
	"net"
	"net/netip"

	"github.com/genway/genway/internal/connections"
)

// Connections bound the connections of each port.
type Connections struct {
	Most          int `name:"max-connections" env:"GENWAY_MAX_CONNECTIONS" default:"10000" least:"0" placeholder:"N" help:"Maximum of open connections on each port, or three quarters of the process's file limit if that is less; 0 is no limit. Connections above it are closed at once."`
	MaxPerAddress int `name:"max-connections-per-address" env:"GENWAY_MAX_CONNECTIONS_PER_ADDRESS" default:"1000" least:"0" placeholder:"N" help:"Maximum of open connections from one address, or one IPv6 /64 network; 0 is no limit. Addresses of --trusted-proxy have no such limit."`
}

// Limit bounds the connections of a listener.
func (c Connections) Limit(l net.Listener, proxies []netip.Prefix, notices *connections.Notices) (net.Listener, error) {
	return connections.NewListener(l, connections.Config{
		Most: withinFiles(c.Most), MaxPerAddress: c.MaxPerAddress, Exempt: proxies,
		Refused: func(limit connections.Limit, from net.Addr) { notices.Add(string(limit), from) },
	}), nil
}

// withinFiles returns the number, or three quarters of the files that the process may open: the
// rest is for upstreams and stores.
func withinFiles(most int) int {
	files, bounded := openFiles()
	if most == 0 || !bounded || files > 1<<30 {
		return most
	}
	return min(most, int(files)*3/4)
}
