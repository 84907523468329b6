package coreproc

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/explain"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/internal/connections"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/sandbox"
	"github.com/genway/genway/telemetry"
	"github.com/genway/genway/telemetry/flight"
	"github.com/genway/genway/telemetry/instrument"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// Core is a core that is ready to serve.
type Core struct {
	Keys      *keys.Service
	routing   *Routing
	limits    *Limits
	ledger    *ledger.Recorder
	store     *store.Store
	items     *items.Keeper
	captures  *vault.Vault
	service   *core.Service
	admin     *admin.Service
	server    *core.Server
	telemetry *telemetry.Telemetry
	counts    *instrument.Core
	gate      *overload.Gate
	metrics   net.Listener  // nil for none
	debug     net.Listener  // likewise
	board     *flight.Board // nil without debug
	notices   *connections.Notices
	data      Data
	log       *slog.Logger
	damaged   atomic.Bool // the store

	certificates *certs.Source // of the gRPC side; nil is cleartext
}

// Open makes a core: its store, its keys, its upstream and its server.
func (f CoreFlags) Open(ctx context.Context, log *slog.Logger) (*Core, error) {
	tel, err := f.StartTelemetry(ctx, cli.ProgramName(), log)
	if err != nil {
		return nil, err
	}
	c, err := f.open(ctx, tel, log)
	if err != nil {
		tel.Close()
		return nil, err
	}
	return c, nil
}

func (f CoreFlags) open(ctx context.Context, tel *telemetry.Telemetry, log *slog.Logger) (*Core, error) {
	trust, certificates, err := f.trust()
	if err != nil {
		return nil, err
	}
	embedded := sandbox.New(sandbox.Config{TextModel: f.TextModel, ImageModel: f.ImageModel})
	counts := instrument.NewCore(tel.Registry, tel.Names)
	routing, err := NewRouting(f.Config, embedded, remote.NewAnswerMemory(f.Answers), log)
	if err != nil {
		return nil, err
	}
	routing.writable, routing.settings = f.ConsoleWrite, f.settings
	db, keyService, err := f.openStore(ctx, store.Config{RelaxLedger: f.LedgerSync == LedgerOff, Waits: logWaits(log)}, log)
	if err != nil {
		return nil, errors.Join(err, routing.Close())
	}
	gate := f.Gate(log, func(signal overload.Signal, p overload.Priority, n int64) {
		counts.Shed(signal.String(), p.String(), n)
	})
	self := newNode(f.GRPC, routing)
	recorder, err := ledger.Start(ctx, ledger.Config{Store: db.Ledger(), Wait: f.LedgerSync == LedgerEach, Journal: f.journal(log), Logger: log, Node: self.now, OnAside: counts.SetAside, OnFailure: func() { counts.StoreFailed("ledger") }})
	if err != nil {
		return nil, errors.Join(err, routing.Close(), db.Close())
	}
	limits, err := openLimits(ctx, routing.section, db.Ledger(), recorder.Process(), self.limitsUnavailable.Store, log)
	if err != nil {
		return nil, errors.Join(err, routing.Close(), recorder.Close(), db.Close())
	}
	routing.follow(limits)
	var kept *items.Keeper
	if f.KeepItems > 0 {
		kept = items.New(items.Config{Store: db.Items(), Keep: f.KeepItems, Logger: log, OnFailure: func() { counts.StoreFailed("items") }}) //nolint:contextcheck // it outlives ctx, and ends with Close
	}
	captures := vault.New(vault.Config{Store: db.Captures(), Logger: log, Count: counts.Captured}) //nolint:contextcheck // likewise
	routing.keepCaptures(captures)
	service, err := core.New(core.Config{Items: kept, Captures: captures, Upstream: routing.Router, Ledger: recorder, Prices: routing.Prices, Limiter: limits.Limiter, Metrics: counts})
	if err != nil {
		kept.Close()
		captures.Close()
		return nil, errors.Join(err, routing.Close(), limits.Close(), recorder.Close(), db.Close())
	}
	administration, err := admin.New(admin.Config{Keys: keyService, Names: db, Audit: db.Audit(), Usage: db.Ledger(), Requests: db.Requests(), Prices: routing.Prices, Explainer: &explain.Explainer{Router: routing.Router}, Topology: routing, Configurator: routing, Recorder: db.Recorder(), Limiter: limits.Limiter, Captures: captures, Trier: service})
	if err != nil {
		kept.Close()
		captures.Close()
		return nil, errors.Join(err, routing.Close(), limits.Close(), recorder.Close(), db.Close())
	}
	var board *flight.Board
	if f.Debug != "" {
		board = flight.NewBoard()
	}
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: keyService, Trust: trust}, Board: board, Gate: gate, Metrics: counts, Tracer: tel.Tracer, Logger: log}
	notices := connections.NewNotices(log, "grpc", counts.Connection)
	flooded := func(from net.Addr) { notices.Add("flood", from) }
	server := core.NewServer(service, interceptors, core.ServerConfig{TLS: grpcTLS(certificates), Grace: cli.Grace(f.Grace), MessageMemory: f.MessageMemory, Flooded: flooded, Admin: administration, MaxConnectionAge: f.connectionAge()})
	self.server.Store(server)
	c := &Core{Keys: keyService, routing: routing, limits: limits, ledger: recorder, store: db, items: kept, captures: captures, service: service, admin: administration, server: server, notices: notices, log: log, telemetry: tel, board: board, counts: counts, gate: gate, data: f.Data, certificates: certificates}
	routing.onReload.Store(new(counts.Reloaded))
	if err := c.watch(&self.limitsUnavailable); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if c.debug, err = f.ListenDebug(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if c.metrics, err = f.ListenMetrics(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Serve answers gRPC calls on the listener, follows the configuration file and prunes the
// ledger as it says, until ctx ends.
func (c *Core) Serve(ctx context.Context, listener net.Listener) error {
	c.Keys.Warm()
	c.advise(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		c.adviseOfBudgets(ctx)
		return nil
	})
	group.Go(func() error { return c.routing.Watch(ctx) })
	group.Go(func() error {
		c.gate.Run(ctx)
		return nil
	})
	group.Go(func() error {
		ledger.Retain(ctx, c.store.Ledger(), c.routing.retainDays, c.log)
		return nil
	})
	group.Go(func() error {
		c.ledger.RollUp(ctx)
		return nil
	})
	if c.certificates != nil {
		group.Go(func() error {
			certs.Follow(ctx, c.log, c.certificates)
			return nil
		})
	}
	group.Go(func() error { c.lookAfter(ctx); return nil })
	group.Go(func() error { c.announceEnd(ctx); return nil })
	group.Go(func() error { return c.server.Serve(ctx, listener) })
	if c.metrics != nil {
		group.Go(func() error { return c.telemetry.Serve(ctx, c.metrics, c.server.Failing) })
	}
	if c.debug != nil {
		group.Go(func() error { return c.telemetry.ServeDebug(ctx, c.debug, c.board) })
	}
	return group.Wait()
}

// Limit bounds the connections of the listener that is to be served.
func (c *Core) Limit(listener net.Listener, bounds cli.Connections) (net.Listener, error) {
	return bounds.Limit(listener, nil, c.notices)
}

// CountConnection counts a connection that a port of this process refused or ended.
func (c *Core) CountConnection(port, reason string) { c.counts.Connection(port, reason) }

// Close closes the server, the upstreams, the limits, the ledger and the store.
func (c *Core) Close() error {
	c.server.Close()
	c.Keys.Close()
	c.items.Close()
	errs := []error{c.routing.Close(), c.limits.Close(), c.ledger.Close()}
	c.captures.Close() // requests that the routing ends have been kept by now
	errs = append(errs, c.store.Close())
	for _, listener := range []net.Listener{c.metrics, c.debug} {
		if listener == nil {
			continue
		}
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) { // as it is once it has served
			errs = append(errs, err)
		}
	}
	c.telemetry.Close()
	return errors.Join(errs...)
}

// Board lists the requests in flight; nil without --debug-listen.
func (c *Core) Board() *flight.Board { return c.board }

// Telemetry is the core's, for an edge in the same process.
func (c *Core) Telemetry() *telemetry.Telemetry { return c.telemetry }

// Channel gives an edge in the same process its way to the core, which trusts it.
func (c *Core) Channel() grpc.ClientConnInterface {
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: c.Keys, Trust: auth.TrustAll}, Board: c.board, Gate: c.gate, InProcess: true, Metrics: c.counts, Tracer: c.telemetry.Tracer, Logger: c.log}
	return core.Channel(c.service, interceptors, c.server.Health())
}

// AdminChannel gives a console in the same process its way to the Admin service.
func (c *Core) AdminChannel() grpc.ClientConnInterface {
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: c.Keys}, Board: c.board, Gate: c.gate, InProcess: true, Metrics: c.counts, Tracer: c.telemetry.Tracer, Logger: c.log}
	return core.AdminChannel(c.admin, interceptors)
}

// DirectChannel gives a console in the same process its way to the Generation service, as a
// direct caller.
func (c *Core) DirectChannel() grpc.ClientConnInterface {
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: c.Keys}, Board: c.board, Gate: c.gate, InProcess: true, Metrics: c.counts, Tracer: c.telemetry.Tracer, Logger: c.log}
	return core.DirectChannel(c.service, interceptors)
}

// ConsoleTLS is how a console beside the core encrypts: with the certificates of the gRPC side;
// nil is cleartext.
func (c *Core) ConsoleTLS() *tls.Config {
	if c.certificates == nil {
		return nil
	}
	return c.certificates.Server(&tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
}

// Gate is the core's, for an edge in the same process.
func (c *Core) Gate() *overload.Gate { return c.gate }
