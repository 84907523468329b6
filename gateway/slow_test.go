package gateway_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport/inproc"
)

// pipes is a listener whose connections are in memory and hold no byte, so that a sender
// is as slow as the receiver.
type pipes struct {
	net.Listener
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// slowly asks for an answer of that size and reads it by steps, with a pause before
// each. It returns how much of the body came, and when.
func slowly(t *testing.T, size int, pause func(read int) time.Duration) (read int, took time.Duration) {
	t.Helper()
	core := &core{answer: answer()}
	core.answer.GetCandidates()[0].GetParts()[0].GetText().Text = strings.Repeat("x", size)
	channel := new(inproc.Channel)
	genwayv1.RegisterGenerationServer(channel, core)
	edge, err := gateway.New(gateway.Config{Core: channel, Logger: slog.New(slog.DiscardHandler), WriteTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	listener := pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: edge}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	caller, accepted := net.Pipe()
	listener.conns <- accepted
	defer caller.Close()
	start := time.Now()
	body := protocols[0].body
	if _, err := io.WriteString(caller, "POST "+protocols[0].path+" HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nConnection: close\r\nContent-Length: "+
		strconv.Itoa(len(body))+"\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(caller, 16), nil)
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 10<<10)
	for {
		time.Sleep(pause(read)) //nolint:forbidigo // of the bubble
		n, err := io.ReadFull(resp.Body, piece)
		if read += n; err != nil {
			return read, time.Since(start)
		}
	}
}

// A caller that is slow and takes what it is sent gets all of a large answer, however
// long that takes; one that stops taking is cut after the timeout.
func TestSlowCallers(t *testing.T) {
	t.Run("progress", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const size = 20 << 20
			read, took := slowly(t, size, func(int) time.Duration { return 50 * time.Millisecond }) // 200 KB/s
			if read < size || took < 90*time.Second {
				t.Errorf("%d bytes of %d came in %v", read, size, took)
			}
		})
	})
	t.Run("the slowest", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const size = 2 << 20
			if read, took := slowly(t, size, func(int) time.Duration { return 8 * time.Second }); read < size || took < 20*time.Minute {
				t.Errorf("%d bytes of %d came in %v", read, size, took)
			}
		})
	})
	t.Run("none", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const size = 20 << 20
			read, _ := slowly(t, size, func(read int) time.Duration {
				if read > 1<<20 {
					return 66 * time.Second // the timeout and its slack
				}
				return 0
			})
			if read > 2<<20 {
				t.Errorf("a caller that took nothing for a minute gets %d bytes", read)
			}
		})
	})
}
