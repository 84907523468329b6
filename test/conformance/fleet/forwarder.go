package fleet

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// Forwarder forwards connections to an address until it is cut.
type Forwarder struct {
	// Address is the forwarder's own HOST:PORT.
	Address string

	to       string
	listener net.Listener
	running  sync.WaitGroup
	mu       sync.Mutex
	cut      bool
	open     map[net.Conn]bool
}

// StartForwarder starts a forwarder to HOST:PORT or to the path of a socket. The test's end stops it.
func StartForwarder(tb testing.TB, to string) *Forwarder {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	r := &Forwarder{Address: listener.Addr().String(), to: to, listener: listener, open: map[net.Conn]bool{}}
	r.running.Go(r.accept)
	tb.Cleanup(func() {
		_ = listener.Close()
		r.Cut()
		r.running.Wait()
	})
	return r
}

// Cut breaks all connections, and every one that comes.
func (r *Forwarder) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = true
	for conn := range r.open {
		_ = conn.Close()
	}
}

// Mend lets connections through again.
func (r *Forwarder) Mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = false
}

func (r *Forwarder) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.running.Go(func() { r.pass(conn) })
	}
}

func (r *Forwarder) pass(conn net.Conn) {
	defer conn.Close()
	network := "tcp"
	if strings.HasPrefix(r.to, "/") {
		network = "unix"
	}
	there, err := net.Dial(network, r.to)
	if err != nil {
		return
	}
	defer there.Close()
	if !r.keep(conn, there) {
		return
	}
	defer r.forget(conn, there)
	back := make(chan struct{})
	go func() {
		_, _ = io.Copy(conn, there)
		_ = conn.Close()
		close(back)
	}()
	_, _ = io.Copy(there, conn)
	_ = there.Close()
	<-back
}

func (r *Forwarder) keep(both ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut {
		return false
	}
	for _, conn := range both {
		r.open[conn] = true
	}
	return true
}

func (r *Forwarder) forget(both ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range both {
		delete(r.open, conn)
	}
}
