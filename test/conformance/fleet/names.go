package fleet

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Names is a DNS server of one name, on UDP.
type Names struct {
	// Address is the server's HOST:PORT.
	Address string

	conn    net.PacketConn
	mu      sync.Mutex
	hosts   []netip.Addr
	queries int
}

// StartNames starts a DNS server whose name has no address yet. The test's end stops it.
func StartNames(tb testing.TB) *Names {
	tb.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(tb.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	n := &Names{Address: conn.LocalAddr().String(), conn: conn}
	done := make(chan error, 1)
	go func() { done <- n.serve() }()
	tb.Cleanup(func() {
		_ = conn.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			tb.Error(err)
		}
	})
	return n
}

// Set sets other addresses of the name; none at all is a name that does not exist.
func (n *Names) Set(hosts ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts = nil
	for _, host := range hosts {
		n.hosts = append(n.hosts, netip.MustParseAddr(host))
	}
}

func (n *Names) serve() error {
	buffer := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(buffer)
		if err != nil {
			return err
		}
		if answer, err := n.answer(buffer[:size]); err == nil { // what is no question gets no answer
			if _, err := n.conn.WriteTo(answer, from); err != nil {
				return err
			}
		}
	}
}

// answer has the IPv4 addresses; there are none of IPv6.
func (n *Names) answer(question []byte) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil || len(m.Questions) != 1 {
		return nil, errors.New("no question")
	}
	n.queries++
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	if len(n.hosts) == 0 {
		m.RCode = dnsmessage.RCodeNameError
	}
	q := m.Questions[0]
	for _, host := range n.hosts {
		if q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
				Body:   &dnsmessage.AResource{A: host.As4()},
			})
		}
	}
	return m.Pack()
}
