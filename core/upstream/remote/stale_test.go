package remote_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// hangingUp is an upstream that serves each connection by a function, until the test
// ends.
func hangingUp(t *testing.T, serve func(*net.TCPConn), change ...func(*remote.Config, *remote.Way)) *remote.Upstream {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				if tcp, ok := conn.(*net.TCPConn); ok {
					serve(tcp)
				}
			})
		}
	})
	way := remote.Way{Direct: true}
	config := remote.Config{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, BaseURL: "http://" + listener.Addr().String() + "/v1"}
	for _, c := range change {
		c(&config, &way)
	}
	transport := remote.NewTransport(way)
	t.Cleanup(func() {
		_ = listener.Close()
		transport.CloseIdleConnections()
		all.Wait()
	})
	config.HTTP = transport
	u, err := remote.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// read takes a whole request, and returns the name of its caller; false without a request.
func read(from *bufio.Reader) (name string, ok bool) {
	req, err := http.ReadRequest(from)
	if err != nil {
		return "", false
	}
	body, err := io.ReadAll(req.Body)
	return string(body), err == nil
}

func reply(to io.Writer) {
	_, _ = fmt.Fprintf(to, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(aChat), aChat)
}

// replyStreamed answers as engines do: in chunks, and with the end of the connection right
// behind the last.
func replyStreamed(to io.Writer) {
	_, _ = io.WriteString(to, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	for _, event := range []string{
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}` + "\n\n",
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n", "data: [DONE]\n\n",
	} {
		_, _ = fmt.Fprintf(to, "%x\r\n%s\r\n", len(event), event)
	}
	_, _ = io.WriteString(to, "0\r\n\r\n")
}

func greet(t *testing.T, u *remote.Upstream, name string, streamed bool) error {
	t.Helper()
	req := &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{user(name)}}
	if streamed {
		return u.StreamGenerateText(t.Context(), deferred.New(req), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
	}
	_, err := u.GenerateText(t.Context(), deferred.New(req))
	return err
}

// tally counts how often each request was executed.
type tally struct {
	mu   sync.Mutex
	seen map[string]int
}

func (s *tally) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[name]++
}

// all returns the counts.
func (s *tally) all() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen)
}

// after lets a while pass.
func after(d time.Duration) { <-time.After(d) }

// closings are the ways and moments in which an upstream closes a connection that it had promised to
// keep.
var closings = map[string]func(*net.TCPConn){
	"at once":           func(c *net.TCPConn) { _ = c.Close() },
	"a little later":    func(c *net.TCPConn) { after(rand.N(200 * time.Microsecond)); _ = c.Close() },
	"later":             func(c *net.TCPConn) { after(rand.N(3 * time.Millisecond)); _ = c.Close() },
	"by a reset":        func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
	"by a reset, later": func(c *net.TCPConn) { after(rand.N(time.Millisecond)); _ = c.SetLinger(0); _ = c.Close() },
	"its side alone":    func(c *net.TCPConn) { _ = c.CloseWrite() },
	"with a word of why": func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
		_ = c.Close()
	},
	"with what is no HTTP": func(c *net.TCPConn) {
		after(rand.N(200 * time.Microsecond))
		_, _ = io.WriteString(c, "\x00\x01\x02")
		_ = c.Close()
	},
}

// settles is how long a connection of an upstream without trust is watched after an answer.
// One that the machine's load lets be closed later than that may meet a request.
const settles = 50 * time.Millisecond

// losses holds the calls that failed against the connections that were closed too late.
type losses struct{ lost, late atomic.Int32 }

// closedAfter notes when a connection was closed, by when its answer began.
func (l *losses) closedAfter(answered time.Time) {
	if time.Since(answered) >= settles {
		l.late.Add(1)
	}
}

func (l *losses) check(t *testing.T) {
	t.Helper()
	if lost, late := l.lost.Load(), l.late.Load(); lost > late {
		t.Errorf("%d calls were lost, and %d connections closed later than %v", lost, late, settles)
	}
}

// An upstream may close connections that it had promised to keep, right after any answer: no call
// fails for that, and none is executed twice (case P5).
func TestUpstreamsThatCloseAfterEveryAnswer(t *testing.T) {
	t.Parallel()
	const requests = 10_000
	moments := slices.Sorted(maps.Keys(closings))
	for _, moment := range moments {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streamed %v", moment, streamed), func(t *testing.T) {
				t.Parallel()
				answer := reply
				if streamed {
					answer = replyStreamed
				}
				var asked tally
				var closed losses
				u := hangingUp(t, func(conn *net.TCPConn) {
					if name, ok := read(bufio.NewReader(conn)); ok {
						asked.add(name)
						answered := time.Now()
						answer(conn)
						closings[moment](conn)
						closed.closedAfter(answered)
						_, _ = io.Copy(io.Discard, conn) // what was closed on one side alone
					}
				})
				var callers sync.WaitGroup
				for caller := range 4 {
					callers.Go(func() {
						for n := range requests / len(moments) / 2 / 4 {
							if err := greet(t, u, fmt.Sprintf("%d of %d", n, caller), streamed); err != nil {
								closed.lost.Add(1)
								t.Logf("%d of %d: %v", n, caller, err)
							}
						}
					})
				}
				callers.Wait()
				closed.check(t)
				for name, n := range asked.all() {
					if n != 1 {
						t.Errorf("%s was executed %d times", name, n)
					}
				}
			})
		}
	}
}

// The same over TLS, where the end of a connection is a record as well.
func TestEncryptedUpstreamsThatCloseAfterEveryAnswer(t *testing.T) {
	pair := httptest.NewTLSServer(nil)
	t.Cleanup(pair.Close)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		var asked tally
		var closed losses
		config := &tls.Config{MaxVersion: version, Certificates: pair.TLS.Certificates}
		u := hangingUp(t, func(socket *net.TCPConn) {
			conn := tls.Server(socket, config)
			defer conn.Close()
			if name, ok := read(bufio.NewReader(conn)); ok {
				asked.add(name)
				answered := time.Now()
				reply(conn)
				after(rand.N(time.Millisecond))
				_ = conn.Close()
				closed.closedAfter(answered)
			}
		}, func(c *remote.Config, way *remote.Way) {
			c.BaseURL = strings.Replace(c.BaseURL, "http:", "https:", 1)
			way.TLS = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "example.com"}
			way.TLS.RootCAs.AddCert(pair.Certificate())
		})
		for n := range 200 {
			if err := greet(t, u, strconv.Itoa(n), false); err != nil {
				closed.lost.Add(1)
				t.Logf("%x: %d: %v", version, n, err)
			}
		}
		closed.check(t)
		for name, n := range asked.all() {
			if n != 1 {
				t.Errorf("%x: %s was executed %d times", version, name, n)
			}
		}
	}
}

// An upstream that keeps connections for some answers, and closes them unasked, can meet a
// request that is on its way, which is lost then and never sent twice. That happens when
// it is trusted; it is trusted less and less.
func TestUpstreamsThatCloseNowAndThen(t *testing.T) {
	var asked tally
	u := hangingUp(t, func(conn *net.TCPConn) {
		from := bufio.NewReader(conn)
		for range rand.N(20) + 1 {
			name, ok := read(from)
			if !ok {
				return
			}
			asked.add(name)
			reply(conn)
		}
	})
	lost := 0
	for n := range 2_000 {
		if err := greet(t, u, strconv.Itoa(n), false); err != nil {
			lost++
		}
	}
	if lost > 3 {
		t.Errorf("%d calls were lost", lost)
	}
	for name, n := range asked.all() {
		if n != 1 {
			t.Errorf("%s was executed %d times", name, n)
		}
	}
}

// One connection serves an upstream that keeps it, for answers of both kinds.
func TestUpstreamsThatKeepConnections(t *testing.T) {
	var dialed tally
	u := hangingUp(t, func(conn *net.TCPConn) {
		dialed.add("dialed")
		from := bufio.NewReader(conn)
		for {
			name, ok := read(from)
			if !ok {
				return
			}
			if strings.Contains(name, `"stream":true`) {
				replyStreamed(conn)
			} else {
				reply(conn)
			}
		}
	})
	for n := range 200 {
		if err := greet(t, u, strconv.Itoa(n), n%3 == 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := dialed.all()["dialed"]; n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A connection is not used for as long as the upstream says that it keeps it, nor for
// longer than most do.
func TestConnectionsOfAge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header string
		dialed int
	}{{"timeout=1, max=100", 2}, {"max=9, Timeout=1", 2}, {"timeout=3", 1}, {"timeout=-1", 1}, {"timeout=99999999999999999999", 1}, {"timeout", 1}, {"", 1}} {
		t.Run(c.header, func(t *testing.T) {
			t.Parallel()
			var dialed tally
			u := hangingUp(t, func(conn *net.TCPConn) {
				dialed.add("dialed")
				from := bufio.NewReader(conn)
				for {
					if _, ok := read(from); !ok {
						return
					}
					_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nKeep-Alive: %s\r\nContent-Length: %d\r\n\r\n%s", c.header, len(aChat), aChat)
				}
			})
			for range 2 {
				if err := greet(t, u, "m", false); err != nil {
					t.Fatal(err)
				}
				after(600 * time.Millisecond)
			}
			if n := dialed.all()["dialed"]; n != c.dialed {
				t.Errorf("%d connections, want %d", n, c.dialed)
			}
		})
	}
}

// A call that an upstream has read and dropped is a failed one, and not made again here,
// whichever way it is dropped, and whether the connection is new or has served before.
func TestDroppedCallsAreNotRepeated(t *testing.T) {
	for name, drop := range map[string]func(*net.TCPConn){
		"closed": func(*net.TCPConn) {},
		"reset":  func(c *net.TCPConn) { _ = c.SetLinger(0) },
		"half":   func(c *net.TCPConn) { _ = c.CloseWrite(); _, _ = io.Copy(io.Discard, c) },
	} {
		for _, before := range []int{0, 1, 9} {
			var asked tally
			u := hangingUp(t, func(conn *net.TCPConn) {
				from := bufio.NewReader(conn)
				for range before {
					if _, ok := read(from); ok {
						reply(conn)
					}
				}
				if name, ok := read(from); ok {
					asked.add(name)
					drop(conn)
				}
			})
			for n := range before {
				if err := greet(t, u, "before", false); err != nil {
					t.Fatalf("%s: %d: %v", name, n, err)
				}
			}
			err := greet(t, u, "dropped", false)
			if f := fault.From(err); f == nil || f.Kind != fault.Unavailable {
				t.Errorf("%s after %d: %v", name, before, err)
			}
			total := 0
			for _, n := range asked.all() {
				total += n
			}
			if total != 1 {
				t.Errorf("%s after %d: it was read %d times", name, before, total)
			}
		}
	}
}
