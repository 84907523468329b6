package remote_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// hangingUp is an upstream that serves each connection by a function, until the test
// ends.
func hangingUp(t *testing.T, serve func(net.Conn)) *remote.Upstream {
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
				serve(conn)
			})
		}
	})
	transport := remote.NewTransport(remote.Way{})
	t.Cleanup(func() {
		_ = listener.Close()
		transport.CloseIdleConnections()
		all.Wait()
	})
	u, err := remote.New(remote.Config{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, BaseURL: "http://" + listener.Addr().String(), HTTP: transport})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// read takes a whole request, and reports whether there was one.
func read(from *bufio.Reader) bool {
	req, err := http.ReadRequest(from)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

func reply(to io.Writer) {
	_, _ = fmt.Fprintf(to, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(aChat), aChat)
}

func greet(t *testing.T, u *remote.Upstream) error {
	t.Helper()
	_, err := u.GenerateText(t.Context(), &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{user("hi")}})
	return err
}

// An upstream that closes connections it has said to keep does not fail the calls that
// find them in the pool: it has not read them.
func TestConnectionsThatDiedInThePool(t *testing.T) {
	u := hangingUp(t, func(conn net.Conn) {
		if read(bufio.NewReader(conn)) {
			reply(conn)
		}
	})
	for range 500 {
		if err := greet(t, u); err != nil {
			t.Fatal(err)
		}
	}
}

// A call that an upstream has read and dropped on a connection of its own is a failed
// one, and not made again here.
func TestDroppedCallsAreNotRepeated(t *testing.T) {
	var calls sync.Map
	u := hangingUp(t, func(conn net.Conn) {
		if read(bufio.NewReader(conn)) {
			calls.Store(conn, true)
		}
	})
	if err := greet(t, u); err == nil {
		t.Fatal("there was no answer")
	}
	n := 0
	calls.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}
