package programs

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// idle makes a connection of HTTP/1.1 on which one request was answered, and returns when it was
// closed. Over TLS there is none: the channel is nil then.
func idle(t *testing.T, url string) <-chan time.Time {
	t.Helper()
	address, cleartext := strings.CutPrefix(url, "http://")
	if !cleartext {
		return nil
	}
	conn, err := new(net.Dialer).DialContext(context.WithoutCancel(t.Context()), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	read := bufio.NewReader(conn)
	resp, err := http.ReadResponse(read, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.Close {
		t.Fatalf("the connection is not kept: %s, %v", text, err)
	}
	closed := make(chan time.Time, 1)
	go func() {
		_, _ = read.ReadByte()
		closed <- time.Now()
	}()
	return closed
}
