//go:build unix

package store_test

import (
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// socketName is the file of a server's socket in its directory.
const socketName = ".s.PGSQL.5432"

// freezing passes connections on to a server until it is frozen: then they stay open, and nothing comes any more.
type freezing struct {
	net.Listener
	to     string
	frozen chan struct{}
	ends   sync.WaitGroup
}

func freezingBefore(t *testing.T, location string) (_ *freezing, through string) {
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
	f := &freezing{Listener: listener, to: filepath.Join(query.Get("host"), socketName), frozen: make(chan struct{})}
	query.Set("host", dir)
	query.Set("statement_timeout", "100ms")
	u.RawQuery = query.Encode()
	f.ends.Go(f.accept)
	t.Cleanup(func() { _ = listener.Close(); f.ends.Wait() })
	return f, u.String()
}

func (f *freezing) accept() {
	for {
		client, err := f.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", f.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		f.ends.Go(func() { f.pass(server, client) })
		f.ends.Go(func() { f.pass(client, server) })
	}
}

func (f *freezing) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	for buf := make([]byte, 4096); ; {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-f.frozen: // what comes is not passed on
		default:
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
}

// A server that stands still is given up some time after its own clock would have ended the statement.
func TestPostgresThatStandsStill(t *testing.T) {
	server, location := freezingBefore(t, servers.PostgresDatabase(t))
	s, err := store.Open(t.Context(), store.Config{Location: location})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	report := func() error {
		_, err := s.Ledger().Report(t.Context(), ledger.Query{By: []ledger.Dimension{ledger.ByKey}})
		return err
	}
	if err := report(); err != nil {
		t.Fatal(err)
	}
	close(server.frozen)
	done := make(chan error, 1)
	go func() { done <- report() }()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "the database was silent for 5.1s") {
			t.Errorf("a report of a server that stands still: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("a report waits for a server that stands still")
	}
}
