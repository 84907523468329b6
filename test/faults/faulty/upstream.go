package faulty

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Upstream returns one answer to every call, and fails in it. One connection serves
// one call.
type Upstream struct {
	// URL is its address, without a path.
	URL string

	fault    Fault
	moment   Moment
	answer   Answer
	listener net.Listener
	held     net.Conn
	secure   *tls.Config
	calls    atomic.Int64
	mu       sync.Mutex
	requests []Request
	serving  sync.WaitGroup
	closing  chan struct{}
}

// Request is a request that was read to its end.
type Request struct {
	Path string
	Body []byte
}

// Requests are the requests so far.
func (u *Upstream) Requests() []Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.requests)
}

// New starts an upstream; Close stops it.
func New(f Fault, m Moment, a Answer) (*Upstream, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	u := &Upstream{URL: "http://" + listener.Addr().String(), fault: f, moment: m, answer: a, listener: listener, closing: make(chan struct{})}
	if f == Refuse {
		// The near end of a connection keeps its port, on which no process listens, from
		// becoming somebody else's.
		u.held, err = new(net.Dialer).DialContext(context.Background(), "tcp", listener.Addr().String())
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		u.URL = "http://" + u.held.LocalAddr().String()
		return u, nil
	}
	if f == TLSFailure {
		u.URL = "https://" + listener.Addr().String()
		u.secure = certified().server
	}
	u.serving.Go(u.accept)
	return u, nil
}

// Close ends all connections and waits for them.
func (u *Upstream) Close() {
	close(u.closing)
	_ = u.listener.Close()
	if u.held != nil {
		_ = u.held.Close()
	}
	u.serving.Wait()
}

// Dial is the dialer of its callers. A stalled one never connects: no portable
// listener leaves a SYN unanswered.
func (u *Upstream) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	u.calls.Add(1)
	if u.fault == ConnectStall {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// Calls is how many connections were asked for.
func (u *Upstream) Calls() int { return int(u.calls.Load()) }

// ClientTLS is the configuration by which callers trust the upstream's
// certificate; where the handshake is to fail, nil: they do not.
func (u *Upstream) ClientTLS() *tls.Config {
	if u.fault != TLSFailure || u.moment == BeforeHeaders {
		return nil
	}
	return certified().client.Clone() // transports write to theirs
}

func (u *Upstream) accept() {
	for {
		conn, err := u.listener.Accept()
		if err != nil {
			return
		}
		u.serving.Go(func() {
			defer func() { _ = conn.Close() }()
			done := make(chan struct{})
			defer close(done)
			u.serving.Go(func() {
				select {
				case <-u.closing:
					_ = conn.Close()
				case <-done:
				}
			})
			u.serve(conn)
		})
	}
}

// serve reads a request and answers it as far as the fault lets it.
func (u *Upstream) serve(raw net.Conn) {
	conn := raw
	if u.secure != nil {
		conn = tls.Server(raw, u.secure)
	}
	request, err := readRequest(conn)
	if err != nil {
		return
	}
	u.mu.Lock()
	u.requests = append(u.requests, request)
	u.mu.Unlock()
	before, after := u.answer.raw(u.fault, u.moment)
	if _, err := io.WriteString(conn, before); err != nil {
		return
	}
	switch u.fault {
	case Reset:
		if tcp, ok := raw.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	case TLSFailure:
		_, _ = io.WriteString(raw, noise)
		untilClosed(raw)
	case HalfClose:
		if tcp, ok := raw.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		untilClosed(raw)
	case Stall:
		untilClosed(raw)
	case Trickle:
		u.trickle(conn, after)
	case Garbage:
		_, _ = io.WriteString(conn, noise+after)
		untilClosed(raw)
	default:
		_, _ = io.WriteString(conn, after)
	}
}

// trickle writes a byte a tick.
func (u *Upstream) trickle(conn net.Conn, data string) {
	ticker := time.NewTicker(200 * time.Microsecond)
	defer ticker.Stop()
	for i := range len(data) {
		select {
		case <-ticker.C:
		case <-u.closing:
			return
		}
		if _, err := io.WriteString(conn, data[i:i+1]); err != nil {
			return
		}
	}
}

// untilClosed waits for the peer, or Close, to end the connection.
func untilClosed(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// readRequest reads a request to its end, so that closing the connection resets
// nothing.
func readRequest(conn net.Conn) (Request, error) {
	lines, length := bufio.NewReader(conn), 0
	var r Request
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return r, err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		if r.Path == "" {
			r.Path = strings.Split(line+"  ", " ")[1] // POST PATH HTTP/1.1
		}
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Content-Length") {
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	r.Body = make([]byte, length)
	_, err := io.ReadFull(lines, r.Body)
	return r, err
}

// identity is a certificate for 127.0.0.1, as its server and its callers need it.
type identity struct{ server, client *tls.Config }

// certified takes the certificate that net/http/httptest has for tests.
var certified = sync.OnceValue(func() identity {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return identity{
		server: &tls.Config{Certificates: server.TLS.Certificates, MinVersion: tls.VersionTLS12},
		client: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}
})
