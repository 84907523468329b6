package console_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// stuckViewers is how many open the live tail and never read.
	stuckViewers = 200
	// stuckRequests is the load beside them, and stuckPause is between two requests of each of stuckCallers: it
	// lasts as long as a write may take.
	stuckRequests = 2800
	stuckCallers  = 8
	stuckPause    = 28 * time.Millisecond
	// stuckMemory is what the process may hold more. The events that those viewers do not read are 90 MiB and more.
	stuckMemory = 64 << 20
	// stuckLimit ends the test on any machine.
	stuckLimit = 5 * time.Minute
)

// Case V29: viewers of the live tail that do not read lose their connections after the ten seconds that a write may
// take. Beside them each request is answered, a viewer that reads sees each of them, and the process holds little more
// memory.
func TestViewersThatDoNotRead(t *testing.T) {
	debug := filepath.Join(t.TempDir(), "debug")
	s := start(t, "--debug-listen", "unix:"+debug)
	admin := s.signIn(t)
	warm, counted := s.key(t, "warm"), s.key(t, "counted")
	ctx, stop := context.WithTimeout(t.Context(), stuckLimit)
	defer stop()
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	watching, warmed, complete := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	group.Go(func() {
		if err := s.watch(ctx, admin, "counted", stuckRequests, watching, warmed, complete); err != nil && ctx.Err() == nil {
			t.Error(err)
			stop()
		}
	})
	await(ctx, t, watching)
	for len(warmed) == 0 && ctx.Err() == nil {
		if code := s.ask(t, warm, hello); code != http.StatusOK {
			t.Fatalf("a request before the load: %d", code)
		}
	}
	var stuck []net.Conn
	for range stuckViewers {
		stuck = append(stuck, s.stick(ctx, t, admin))
	}
	before := s.memory(t, debug)
	for range stuckCallers {
		group.Go(func() {
			pace := time.NewTicker(stuckPause)
			defer pace.Stop()
			for n := 0; n < stuckRequests/stuckCallers && ctx.Err() == nil; n++ {
				if code := s.ask(t, counted, hello); code != http.StatusOK {
					t.Errorf("beside viewers that do not read: %d", code)
				}
				await(ctx, t, pace.C)
			}
		})
	}
	await(ctx, t, complete)
	grown := s.memory(t, debug) - before
	t.Logf("the process holds %d KiB more", grown>>10)
	if grown > stuckMemory {
		t.Errorf("the process holds %d KiB more", grown>>10)
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for n := 1; n > 0 && ctx.Err() == nil; await(ctx, t, look.C) {
		n = s.connected(t, stuck)
	}
	// What the server had sent before waits in the connection, and behind it is its end.
	for i, c := range stuck {
		if err := c.SetReadDeadline(time.Now().Add(stuckLimit)); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(c)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Error(err)
		}
		if !strings.HasPrefix(string(rest), "HTTP/1.1 200 OK\r\n") || strings.Count(string(rest), `"id":`) >= stuckRequests {
			t.Fatalf("the viewer was to be sent a part of the events: %.100q", rest)
		}
		if i == 0 {
			t.Logf("a viewer that did not read was sent %d bytes, %d requests", len(rest), strings.Count(string(rest), `"id":`))
		}
	}
}

// await waits for an event.
func await[T any](ctx context.Context, t *testing.T, event <-chan T) {
	t.Helper()
	select {
	case <-event:
	case <-ctx.Done():
		t.Error("the time is over:", ctx.Err())
	}
}

// stick opens the live tail as a browser does that is signed in, over a connection whose buffers are small.
func (s started) stick(ctx context.Context, t *testing.T, session *http.Client) net.Conn {
	t.Helper()
	at, err := url.Parse(s.console)
	if err != nil {
		t.Fatal(err)
	}
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var set error
		err := raw.Control(func(fd uintptr) {
			set = errors.Join(syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096), syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536))
		})
		return errors.Join(err, set)
	}}
	c, err := dialer.DialContext(ctx, "tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	secured := *at
	secured.Scheme = "https"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.console+"/requests/live", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range session.Transport.(secure).jar.Cookies(&secured) {
		r.AddCookie(cookie)
	}
	if err := r.Write(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// memory is what the process holds after a collection, in bytes, by its pages for debugging. What is resident
// would be several times as much under the race detector.
func (s started) memory(t *testing.T, debug string) int {
	t.Helper()
	pages := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", debug)
	}}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/debug/pprof/heap?gc=1&debug=1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := pages.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := heapHeld.FindSubmatch(text)
	if found == nil {
		t.Fatalf("no figure of the heap: %.200s", text)
	}
	held, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return held
}

var heapHeld = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)

// connected is how many of the connections the server has not closed. The system's table tells it: the end of a
// connection whose client does not read never reaches the client.
func (s started) connected(t *testing.T, clients []net.Conn) (n int) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	const established = "01"
	open := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); fields[3] == established {
			open[fields[1]+" "+fields[2]] = true
		}
	}
	for _, c := range clients {
		if open[tableAddress(c.RemoteAddr())+" "+tableAddress(c.LocalAddr())] {
			n++
		}
	}
	return n
}

// tableAddress writes an address as the system's table does on a little-endian machine.
func tableAddress(a net.Addr) string {
	at := a.(*net.TCPAddr)
	ip := at.IP.To4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], at.Port)
}
