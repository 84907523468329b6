package programs

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
)

// TestFreedMemory fills the memory of a process with uploads that do not end, and ends them. The process
// refuses requests meanwhile and serves all soon afterwards, although nobody but one caller asks it and it
// allocates next to nothing: it does not wait for the collection that the runtime makes after two minutes.
// (Case N88.)
func TestFreedMemory(t *testing.T) {
	s := server.Start(t, server.Options{Args: []string{"--overload-memory", "60000000"}, Cleartext: true})
	client, err := caller.New(s.URL(), s.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	served := func() bool {
		got, err := client.Do(t.Context(), caller.Call{Protocol: "chat", Model: "sandbox-text", Key: s.Keys["chat"]})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Whole {
			shedNatively(t, "chat", "chat", got)
		}
		return got.Whole
	}
	var uploads []net.Conn
	end := func() {
		for _, c := range uploads {
			_ = c.Close()
		}
	}
	defer end()
	// Half of the memory for bodies is for one caller: 512 MiB, of which ten uploads take a part.
	for served() {
		if len(uploads) == 10 {
			t.Fatal("requests are served beside 400 MB of uploads")
		}
		uploads = append(uploads, unendedUpload(t.Context(), t, s.HTTP, s.Keys["chat"], 40<<20))
	}
	end()
	// The interval of callers keeps the process idle. A minute is half of the runtime's two.
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); !served(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatal("requests are refused a minute after the memory was freed")
		}
	}
}

// unendedUpload sends all of a body but its last byte. It returns when that has been read or refused.
func unendedUpload(ctx context.Context, t *testing.T, address, key string, size int) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("%s /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", http.MethodPost, key, size)
	if _, err := c.Write([]byte(head)); err != nil {
		t.Fatal(err)
	}
	piece := []byte(strings.Repeat(" ", 1<<20))
	for sent := 1; sent < size-1; {
		n, err := c.Write(piece[:min(len(piece), size-1-sent)])
		if err != nil {
			break // The request was refused, which ends its connection.
		}
		sent += n
	}
	return c
}
