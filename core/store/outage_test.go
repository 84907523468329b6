//go:build unix

package store_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// While PostgreSQL is away, entries wait; once it is back they are written, each once,
// and the connections need no help.
func TestLedgerOutlivesPostgres(t *testing.T) {
	p := servers.NewPostgres(t)
	s := opened(t, p.Database(t))
	r, err := ledger.Start(t.Context(), ledger.Config{Store: s.Ledger()})
	if err != nil {
		t.Fatal(err)
	}
	const callers, each = 8, 300
	halfway := make(chan struct{}, callers)
	goOn := make(chan struct{})
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			for n := range each {
				if n == each/2 {
					halfway <- struct{}{}
					<-goOn
				}
				record, err := r.Open(t.Context(), ledger.Request{ID: "req", Protocol: "chat_completions", Start: time.Now()})
				if err != nil {
					t.Error(err)
					return
				}
				record.Settle(ledger.Result{Outcome: ledger.OK, Usage: ledger.Usage{Input: 3}})
			}
		})
	}
	for range callers {
		<-halfway
	}
	// The last batches are under way, or wait.
	p.Kill()
	close(goOn)
	wait.Wait()
	if _, err := s.Ledger().Report(t.Context(), ledger.Query{By: []ledger.Dimension{ledger.ByKey}}); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a report without a server: %v", err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Ledger().Report(t.Context(), ledger.Query{By: []ledger.Dimension{ledger.ByKey}})
	if err != nil || len(rows) != 1 || rows[0].Requests != callers*each || rows[0].OK != callers*each || rows[0].Input != 3*callers*each {
		t.Errorf("%+v, %v", rows, err)
	}
}

// While PostgreSQL is away, known keys open for the staleness; what was changed after its
// return takes effect.
func TestKeysOutlivePostgres(t *testing.T) {
	p := servers.NewPostgres(t)
	location := p.Database(t)
	var passed atomic.Int64
	pass := func(d time.Duration) { passed.Add(int64(d)) }
	clock := func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(passed.Load())) }
	server, command := service(t, location, clock), service(t, location, nil)
	raw, key, err := command.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat})
	if err != nil {
		t.Fatal(err)
	}
	opens := func(when string, want error) {
		t.Helper()
		if _, err := server.Authenticate(t.Context(), raw); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", when, err, want)
		}
	}
	opens("up", nil)
	p.Kill()
	pass(time.Second)
	opens("down", nil)
	pass(58 * time.Second)
	opens("nearly a minute later", nil)
	pass(2 * time.Second)
	opens("a minute later", keys.ErrUnavailable)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	pass(time.Second)
	opens("up again", nil)
	if _, err := command.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	pass(1500 * time.Millisecond)
	opens("revoked", keys.ErrWrongKey)
}

// Opening a database that accepts the connection and never answers can be interrupted, and says so.
func TestOpenPostgresIsInterrupted(t *testing.T) {
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		conn, err := silent.Accept()
		if err == nil {
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 1)) // what opens the store has begun
		}
		interrupt()
	}()
	_, err = store.Open(ctx, store.Config{Location: "postgres://genway@" + silent.Addr().String() + "/genway?sslmode=disable&connect_timeout=3600"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("opening: %v", err)
	}
}
