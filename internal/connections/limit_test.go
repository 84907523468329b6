package connections_test

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/internal/connections"
)

// queue is a listener on which connections from those addresses come.
type queue struct {
	net.Listener
	from []net.Addr
}

func (q *queue) Accept() (net.Conn, error) {
	if len(q.from) == 0 {
		return nil, net.ErrClosed
	}
	c := &come{from: q.from[0]}
	q.from = q.from[1:]
	return c, nil
}

type come struct {
	net.Conn
	from net.Addr
}

func (c *come) RemoteAddr() net.Addr { return c.from }
func (c *come) Close() error         { return nil }

func addresses(texts string) (from []net.Addr) {
	for text := range strings.FieldsSeq(texts) {
		if text == "unix" {
			from = append(from, &net.UnixAddr{Net: "unix"})
			continue
		}
		from = append(from, &net.TCPAddr{IP: netip.MustParseAddr(text).AsSlice(), Port: 1000 + len(from)})
	}
	return from
}

// Connections beyond a limit are refused, by the limit's name, and no others.
func TestLimits(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	for name, c := range map[string]struct {
		config         connections.Config
		from, refusals string
		admitted       int
	}{
		"none":                {connections.Config{}, "10.0.0.1 10.0.0.1 10.0.0.1", "", 3},
		"in all":              {connections.Config{Most: 2}, "10.0.0.1 10.0.0.2 unix", "all", 2},
		"per address":         {connections.Config{MaxPerAddress: 2}, "10.0.0.1 10.0.0.2 10.0.0.1 10.0.0.1 10.0.0.2", "address", 4},
		"IPv4 within IPv6":    {connections.Config{MaxPerAddress: 1}, "10.0.0.1 ::ffff:10.0.0.1", "address", 1},
		"a network of IPv6":   {connections.Config{MaxPerAddress: 1}, "2001:db8::1 2001:db8::ffff:1 2001:db8:0:1::1", "address", 2},
		"trusted proxies":     {connections.Config{MaxPerAddress: 1, Exempt: proxies}, "10.1.0.1 10.1.0.1 10.2.0.1 10.2.0.1", "address", 3},
		"trusted proxies all": {connections.Config{Most: 1, Exempt: proxies}, "10.1.0.1 10.1.0.1", "all", 1},
		"unix sockets":        {connections.Config{MaxPerAddress: 1}, strings.Repeat("unix ", 2), "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			var refusals []string
			c.config.Refused = func(limit connections.Limit, _ net.Addr) { refusals = append(refusals, string(limit)) }
			l := connections.NewListener(&queue{from: addresses(c.from)}, c.config)
			admitted := 0
			for {
				if _, err := l.Accept(); err != nil {
					break
				}
				admitted++
			}
			if got := strings.Join(refusals, " "); got != c.refusals || admitted != c.admitted {
				t.Errorf("%d were admitted, refusals: %q", admitted, got)
			}
		})
	}
}

// A connection that is closed makes room for one, however often it is closed.
func TestRoomComesBack(t *testing.T) {
	refused := 0
	q := &queue{from: addresses(strings.Repeat("10.0.0.1 ", 8))}
	l := connections.NewListener(q, connections.Config{Most: 2, MaxPerAddress: 1, Refused: func(connections.Limit, net.Addr) { refused++ }})
	for range 8 {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		var closers sync.WaitGroup
		for range 3 {
			closers.Go(func() { _ = c.Close() })
		}
		closers.Wait()
	}
	if refused != 0 {
		t.Errorf("%d were refused", refused)
	}
}

// However many connections are refused, there is a line a second, which counts them.
func TestNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		counted := 0
		n := connections.NewNotices(slog.New(slog.NewTextHandler(&log, nil)), "http", func(port, reason string) {
			if port == "http" && reason == "address" {
				counted++
			}
		})
		from := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 7}
		for range 100 {
			n.Add("address", from)
			time.Sleep(20 * time.Millisecond) //nolint:forbidigo // of the bubble
		}
		n.Add("flood", from)
		if got := log.String(); strings.Count(got, "\n") != 3 || counted != 100 || !strings.Contains(got, `reasons="address=49 flood=1"`) || !strings.Contains(got, "last_from=10.0.0.1:7") {
			t.Errorf("%d counted, log:\n%s", counted, got)
		}
	})
}
