//go:build unix

package store_test

import (
	"bytes"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// socketName is the file of a server's socket in its directory.
const socketName = ".s.PGSQL.5432"

// relay passes connections on to a server until a client sends a text: then it closes all of them, or with freezes
// leaves them open and passes nothing on.
type relay struct {
	net.Listener
	to      string
	at      []byte
	freezes bool
	frozen  chan struct{}
	times   atomic.Int64 // how often the text was sent
	ends    sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// relayBefore returns the URL of a relay before the server of a URL, with a statement_timeout of 2 s.
func relayBefore(t *testing.T, location, at string) (_ *relay, through string) {
	t.Helper()
	u, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	dir := t.TempDir()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, socketName))
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: listener, to: filepath.Join(query.Get("host"), socketName), at: []byte(at), frozen: make(chan struct{})}
	query.Set("host", dir)
	query.Set("statement_timeout", "2s")
	u.RawQuery = query.Encode()
	r.ends.Go(r.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		r.cut()
		r.ends.Wait()
	})
	return r, u.String()
}

func (r *relay) met() bool { return r.times.Load() > 0 }

func (r *relay) accept() {
	for {
		client, err := r.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", r.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, client, server)
		r.mu.Unlock()
		r.ends.Go(func() { r.pass(server, client, func([]byte) {}) })
		r.ends.Go(func() { r.pass(client, server, r.look) })
	}
}

// look meets the text in what was sent.
func (r *relay) look(sent []byte) {
	switch {
	case !bytes.Contains(sent, r.at):
	case r.times.Add(1) > 1:
	case r.freezes:
		close(r.frozen)
	default:
		r.cut()
	}
}

func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		_ = conn.Close()
	}
}

func (r *relay) pass(from, to net.Conn, after func([]byte)) {
	defer from.Close()
	defer to.Close()
	for buf := make([]byte, 4096); ; {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-r.frozen: // what comes is not passed on
			continue
		default:
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
		after(buf[:n])
	}
}
