// Package target reads the targets of gRPC connections that operators write: from an edge to its cores, and from a core
// to other Generation servers. It must not import anything of ours.
package target

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Target names one server, or with dns:/// the servers at all addresses of a name.
type Target struct {
	text string // in its canonical form
	// Path is the path of a unix socket; empty for an address.
	Path string
	// Host and Port are an address. The host is a name or an IP address.
	Host, Port string
	// Authority is the HOST:PORT of the DNS server to ask; empty for the system's.
	Authority string
	// Each says that every address of the host is a server.
	Each bool
}

// String is the target as gRPC takes it.
func (t Target) String() string { return t.text }

// Static returns the address of a target that needs no lookup; nil for a name.
func (t Target) Static() []string {
	if t.Path != "" {
		return []string{"unix:" + t.Path}
	}
	if _, err := netip.ParseAddr(t.Host); err == nil {
		return []string{net.JoinHostPort(t.Host, t.Port)}
	}
	return nil
}

// AuthorityName is the name that the server's certificate is checked against.
func (t Target) AuthorityName() string {
	if t.Path != "" {
		return "localhost" // as gRPC has it for unix sockets
	}
	return net.JoinHostPort(t.Host, t.Port)
}

// ErrNoPort is returned for a target without a port, for which gRPC takes 443.
var ErrNoPort = errors.New("the port is missing; " + expected)

// expected is how targets are written.
const expected = "expected HOST:PORT, dns:///HOST:PORT or unix:PATH"

// hostName is a name of DNS, with the underscores that some platforms use.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)

// scheme is what ends at the colon of a URL; a name with a port is none.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):/`)

// ParseAll reads the targets of an edge's cores. None at all, a target of another form and a repeated one
// are errors, which quote the target.
func ParseAll(texts []string) ([]Target, error) {
	if len(texts) == 0 {
		return nil, errors.New("no core is named; " + expected)
	}
	var targets []Target
	for _, text := range texts {
		target, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		if slices.ContainsFunc(targets, target.same) {
			return nil, fmt.Errorf("%q: the core is named twice", text)
		}
		targets = append(targets, target)
	}
	return targets, nil
}

// same reports whether two targets name the same, in any spelling.
func (t Target) same(other Target) bool {
	t.text, other.text = "", ""
	t.Host, other.Host = spelled(t.Host), spelled(other.Host)
	return t == other
}

// spelled is a host in its usual spelling.
func spelled(host string) string {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().String()
	}
	return strings.ToLower(host)
}

// longestPath is the longest path of a unix socket, in bytes.
const longestPath = 107

// Parse reads a target: HOST:PORT is one server, dns:///HOST:PORT (or dns://SERVER/HOST:PORT, which asks that DNS server)
// one at each address of the name, unix:PATH the one on a socket.
func Parse(text string) (Target, error) {
	if text == "" {
		return Target{}, errors.New("the target is empty; " + expected)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return Target{}, errors.New("blanks and control characters are no part of a target")
	}
	if path, is := strings.CutPrefix(text, "unix:"); is {
		path = strings.TrimPrefix(path, "//")
		if path == "" {
			return Target{}, errors.New("the path of the socket is missing; expected unix:PATH")
		}
		if len(path) > longestPath {
			return Target{}, fmt.Errorf("the path of the socket has %d bytes; expected at most %d", len(path), longestPath)
		}
		return Target{text: "unix:" + path, Path: path}, nil
	}
	if rest, is := strings.CutPrefix(text, "dns:"); is && (strings.HasPrefix(rest, "/") || strings.Contains(rest, ":")) {
		return parseDNS(rest)
	}
	if found := scheme.FindStringSubmatch(text); found != nil {
		return Target{}, fmt.Errorf("the scheme %s is not supported; %s", found[1], expected)
	}
	host, port, err := hostPort(text)
	return Target{text: net.JoinHostPort(host, port), Host: host, Port: port}, err
}

// parseDNS reads what follows dns: as gRPC does: //SERVER/NAME:PORT, ///NAME:PORT or NAME:PORT.
func parseDNS(rest string) (Target, error) {
	var server string
	if after, is := strings.CutPrefix(rest, "//"); is {
		var slash bool
		if server, rest, slash = strings.Cut(after, "/"); !slash {
			return Target{}, fmt.Errorf("the host is missing behind the DNS server %s; expected dns:///%s", server, server)
		}
	}
	host, port, err := hostPort(rest)
	if err != nil {
		return Target{}, err
	}
	t := Target{Host: host, Port: port, Each: true}
	if server != "" {
		if _, _, err := net.SplitHostPort(server); err != nil {
			server = net.JoinHostPort(strings.Trim(server, "[]"), "53")
		}
		if _, _, err := hostPort(server); err != nil {
			return Target{}, fmt.Errorf("the DNS server %s: %w", server, err)
		}
		t.Authority = server
	}
	t.text = "dns://" + t.Authority + "/" + net.JoinHostPort(host, port)
	return t, nil
}

// hostPort returns the two parts of HOST:PORT, both of them there and well formed.
func hostPort(text string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(text)
	if err != nil {
		if reason, is := errors.AsType[*net.AddrError](err); is && strings.HasPrefix(reason.Err, "missing port") {
			return "", "", ErrNoPort
		}
		return "", "", errors.New("this is no address; " + expected + ", and [HOST]:PORT for an IPv6 address")
	}
	if host == "" {
		return "", "", errors.New("the host is missing; " + expected)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '0' || port[0] == '+' {
		return "", "", fmt.Errorf("the port is %q; expected a number from 1 to 65535", port)
	}
	if _, err := netip.ParseAddr(host); err != nil && (len(host) > 253 || !hostName.MatchString(host) || allDigits(host)) {
		return "", "", fmt.Errorf("the host %q is neither a name nor an IP address", host)
	}
	return host, port, nil
}

// allDigits reports whether a host is an IPv4 address in the making, such as 10.0.0.256.
func allDigits(host string) bool {
	return !strings.ContainsFunc(host, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
}
