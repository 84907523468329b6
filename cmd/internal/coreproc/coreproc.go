package coreproc

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/explain"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/refusals"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/internal/connections"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/protocol"
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
	refused   *refusals.Log
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
	db, keyService, err := f.openStore(ctx, store.Config{RelaxLedger: f.LedgerSync == LedgerOff, Waits: logWaits(log)}, keys.Config{Logger: log, Foreign: f.ForeignKeys})
	if err != nil {
		return nil, errors.Join(err, routing.Close())
	}
	gate := f.Gate(log, func(signal overload.Signal, p overload.Priority, n int64) {
		counts.Shed(signal.String(), p.String(), n)
	})
	self := newNode(f.GRPC, routing)
	var kept *items.Keeper
	if f.KeepResponses > 0 {
		kept = items.New(items.Config{Store: db.Items(), Keep: f.KeepResponses, Logger: log, OnFailure: func() { counts.StoreFailed("items") }}) //nolint:contextcheck // it outlives ctx, and ends with Close
	}
	recorder, err := ledger.Start(ctx, ledger.Config{Store: db.Ledger(), Wait: f.LedgerSync == LedgerEach, Journal: f.journal(log), Logger: log, Node: self.now, OnAside: counts.SetAside, OnItems: kept.Written, OnFailure: func() { counts.StoreFailed("ledger") }})
	if err != nil {
		kept.Close()
		return nil, errors.Join(err, routing.Close(), db.Close())
	}
	limits, err := openLimits(ctx, routing.section, db.Ledger(), recorder.Process(), self.limitsUnavailable.Store, log)
	if err != nil {
		kept.Close()
		return nil, errors.Join(err, routing.Close(), recorder.Close(), db.Close())
	}
	routing.follow(limits)
	captures := vault.New(vault.Config{Store: db.Captures(), Logger: log, Count: counts.Captured}) //nolint:contextcheck // likewise
	routing.keepCaptures(captures)
	service, err := core.New(core.Config{Items: kept, Background: f.Background, Logger: log, Captures: captures, Upstream: routing.Router, Ledger: recorder, Prices: routing.Prices, ReportCost: routing.reportCost.Load, Limiter: limits.Limiter, Metrics: counts})
	if err != nil {
		kept.Close()
		captures.Close()
		return nil, errors.Join(err, routing.Close(), limits.Close(), recorder.Close(), db.Close())
	}
	sample := refusals.New(time.Now)
	administration, err := admin.New(admin.Config{Keys: keyService, Names: db, Audit: db.Audit(), Usage: db.Ledger(), Requests: db.Requests(), Prices: routing.Prices, Explainer: &explain.Explainer{Router: routing.Router}, Topology: routing, Configurator: routing, Recorder: db.Recorder(), Limiter: limits.Limiter, Captures: captures, Trier: service, Refused: sample})
	if err != nil {
		kept.Close()
		captures.Close()
		return nil, errors.Join(err, routing.Close(), limits.Close(), recorder.Close(), db.Close())
	}
	var board *flight.Board
	if f.Debug != "" {
		board = flight.NewBoard()
	}
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: keyService, Trust: trust}, Board: board, Refused: sample, Gate: gate, Metrics: counts, Tracer: tel.Tracer, Logger: log}
	notices := connections.NewNotices(log, "grpc", counts.Connection)
	flooded := func(from net.Addr) { notices.Add("flood", from) }
	server := core.NewServer(service, interceptors, core.ServerConfig{TLS: grpcTLS(certificates), Grace: cli.Grace(f.Grace), MessageMemory: f.MessageMemory, Flooded: flooded, Admin: administration, MaxConnectionAge: f.connectionAge()})
	self.server.Store(server)
	c := &Core{Keys: keyService, routing: routing, limits: limits, ledger: recorder, store: db, items: kept, captures: captures, service: service, admin: administration, server: server, notices: notices, log: log, telemetry: tel, board: board, refused: sample, counts: counts, gate: gate, data: f.Data, certificates: certificates}
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
	errs := []error{c.routing.Close(), c.limits.Close(), c.ledger.Close()}
	c.items.Close()
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

// Channel connects an edge in the same process to the core, which trusts it.
func (c *Core) Channel() grpc.ClientConnInterface {
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: c.Keys, Trust: auth.TrustAll}, Board: c.board, Refused: c.refused, Gate: c.gate, InProcess: true, Metrics: c.counts, Tracer: c.telemetry.Tracer, Logger: c.log}
	return core.Channel(c.service, interceptors, c.server.Health())
}

// AdminChannel connects a console in the same process to the Admin service.
func (c *Core) AdminChannel() grpc.ClientConnInterface {
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: c.Keys}, Board: c.board, Gate: c.gate, InProcess: true, Metrics: c.counts, Tracer: c.telemetry.Tracer, Logger: c.log}
	return core.AdminChannel(c.admin, interceptors)
}

// DirectChannel connects a console in the same process to the Generation service, as a
// direct caller.
func (c *Core) DirectChannel() grpc.ClientConnInterface {
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: c.Keys}, Board: c.board, Refused: c.refused, Gate: c.gate, InProcess: true, Metrics: c.counts, Tracer: c.telemetry.Tracer, Logger: c.log}
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

// CoreFlags are the core's flags.
type CoreFlags struct { //nolint:recvcheck // TakeSettings sets a field, all else takes a copy
	Data
	GRPC          string        `name:"grpc" env:"GENWAY_GRPC" default:"127.0.0.1:9090" placeholder:"ADDR" group:"gRPC side:" help:"Address of the gRPC side: HOST:PORT or unix:PATH."`
	Grace         time.Duration `env:"GENWAY_GRACE" default:"20s" least:"0s" group:"Start and end:" help:"How long requests in flight may continue after SIGTERM."`
	MaxAge        time.Duration `name:"max-connection-age" env:"GENWAY_MAX_CONNECTION_AGE" default:"25s" least:"1s" or:"0s" placeholder:"D" group:"gRPC side:" help:"Age at which clients are asked to reconnect, so that calls reach new cores; 0: never."`
	TextModel     string        `env:"GENWAY_SANDBOX_TEXT_MODEL" default:"sandbox-text" placeholder:"NAME" group:"Sandbox:" help:"Name of the sandbox's text model."`
	ImageModel    string        `env:"GENWAY_SANDBOX_IMAGE_MODEL" default:"sandbox-image" placeholder:"NAME" group:"Sandbox:" help:"Name of the sandbox's image model."`
	LedgerSync    LedgerSync    `env:"GENWAY_LEDGER_SYNC" enum:"off,batch,each" default:"batch" group:"Data:" help:"Durability of the ledger: off, batch (synced within 20 ms) or each (synced before an answer ends)."`
	Answers       int64         `name:"answer-memory" env:"GENWAY_ANSWER_MEMORY" least:"268435456" or:"0" type:"bytes" placeholder:"BYTES" group:"Limits:" help:"Memory limit for the answers of upstreams to all requests together, at least 256 MiB. Default: 1 GiB."`
	KeepResponses time.Duration `env:"GENWAY_KEEP_RESPONSES" default:"24h" least:"0s" most:"87600h" group:"Data:" help:"How long stored responses can be fetched and continued; 0 stores none."`

	Background int `name:"background-responses" env:"GENWAY_BACKGROUND_RESPONSES" default:"100" least:"0" placeholder:"N" group:"Data:" help:"Maximum of responses in the background of one key at one core; 0: none."`

	MessageMemory int64         `env:"GENWAY_MESSAGE_MEMORY" least:"33554432" or:"0" type:"bytes" placeholder:"BYTES" group:"Limits:" help:"Memory limit for the messages of all direct gRPC callers together, at least 32 MiB. Default: 512 MiB."`
	ShutdownDelay time.Duration `env:"GENWAY_SHUTDOWN_DELAY" least:"0s" placeholder:"D" group:"Start and end:" help:"How long to serve after SIGTERM while not ready, for load balancers. Default: 0s."`

	ForeignKeys []string `name:"foreign-keys" env:"GENWAY_FOREIGN_KEYS" placeholder:"PREFIX,…" group:"Data:" help:"What imported keys of another gateway begin with, as sk-."`

	ConsoleWrite bool `name:"console-write" env:"GENWAY_CONSOLE_WRITE" group:"Console:" help:"Allow admins to write the configuration file: they can then send upstreams' keys anywhere."`

	TrustFlags
	cli.Overload
	cli.Telemetry

	settings []cli.Setting
}

// TakeSettings has the core report the flags of its process.
func (f *CoreFlags) TakeSettings(settings []cli.Setting) { f.settings = settings }

// LedgerSync is how durable the ledger is. Empty is batch.
type LedgerSync string

// The ledger's durabilities; docs/ledger.md says what each costs.
const (
	LedgerOff  LedgerSync = "off"
	LedgerEach LedgerSync = "each"
)

// ListenGRPC opens the core's listener.
func (f CoreFlags) ListenGRPC(ctx context.Context) (net.Listener, error) {
	return cli.Listen(ctx, "--grpc", f.GRPC)
}

// connectionAge is the age at which connections of the gRPC side are replaced; 0 for
// never. Behind a unix socket there is one core for good.
func (f CoreFlags) connectionAge() time.Duration {
	if strings.HasPrefix(f.GRPC, "unix:") {
		return 0
	}
	return f.MaxAge
}

// OIDC is the console's identity provider as the configuration in force has it; nil for none.
func (c *Core) OIDC() *config.OIDC { return c.routing.oidc.Load() }

// StartSession makes a session of the console for the subject whom an identity provider vouches for, and
// returns its key. The audit names the subject.
func (c *Core) StartSession(ctx context.Context, params keys.SessionParams) (raw string, err error) {
	made, err := c.Keys.StartSession(audit.WithActor(ctx, "oidc:"+params.Subject), params)
	return made.Raw, err
}

// Models returns a model to try for callers of each protocol: the first that is listed by
// name, that a route leads to and that has a target which can serve it. A protocol for
// which none is known, as where all routes are globs, has no entry.
func (c *Core) Models() map[genwayv1.Protocol]string { return models(c.routing.Router) }

func models(router *route.Router) map[genwayv1.Protocol]string {
	found := map[genwayv1.Protocol]string{}
	for _, p := range append(slices.Clip(protocol.All()), protocol.Direct) {
		for _, m := range router.Models() {
			does := m.GetGeneratesText()
			if p.Images {
				does = m.GetGeneratesImages()
			}
			if e := router.Explain(p.ID, m.GetName()); does && pasteable(m.GetName()) && len(e.Targets)+len(e.Fallback) > 0 {
				found[p.ID] = m.GetName()
				break
			}
		}
	}
	return found
}

// pasteable reports whether a name is written in a line for a shell, in JSON and in a path as
// it is.
func pasteable(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/@+") == ""
}

// advise logs what an operator has most likely forgotten: that there is no key.
func (c *Core) advise(ctx context.Context) {
	live, err := c.Keys.List(ctx, keys.Query{Limit: 1, LiveAt: time.Now()})
	if err != nil {
		c.log.Warn("the keys cannot be listed", "error", err)
		return
	}
	flag, err := c.data.Flag(os.Getenv)
	if err != nil {
		flag = ""
	}
	if len(live) == 0 {
		c.log.Warn("there is no key, so no client can call; make one", "command", "genway keys create --group "+string(keys.GroupChat)+flag)
	}
}

// adviseOfBudgets logs that a key has a budget which no price can be counted against. It
// reads keys until it finds one, so that it runs beside the server.
func (c *Core) adviseOfBudgets(ctx context.Context) {
	if !c.routing.unpriced() {
		return
	}
	for key, err := range c.Keys.All(ctx, keys.Query{LiveAt: time.Now()}) {
		if err != nil {
			return // the server says so where it matters
		}
		if len(key.Policy.Limits.Budgets) > 0 {
			c.log.Warn("keys have budgets and the configuration has no prices: requests of these keys are refused", "key", key.ID, "remedy", config.PricesRemedy)
			return
		}
	}
}

// watch has the state of the core read whenever metrics are collected.
func (c *Core) watch(limitsUnavailable *atomic.Bool) error {
	var fills *limit.Fills
	if counted, ok := c.limits.store.(interface{ Fills() *limit.Fills }); ok {
		fills = counted.Fills()
	}
	_, err := instrument.State{
		Breakers: c.routing.Router.Breakers, LedgerQueue: c.ledger.Queued, LedgerLag: c.ledger.Lag,
		LimitsDegraded: limitsUnavailable.Load, StoreDamaged: c.damaged.Load, AnswerBytes: c.routing.Answers.Held,
		Budgets: func(yield func(scope, period string, fill float64)) {
			if fills != nil {
				fills.Each(time.Now(), yield)
			}
		},
		Certificates: c.expiries, ConfigHash: c.routing.Hash, Ready: func() bool { return len(c.server.Failing()) == 0 },
		LogLinesLost: cli.LinesLost(c.log),
	}.Watch(c.telemetry.Meter)
	return err
}

// expiries calls yield with the groups of certificates, and when the first of each ends.
func (c *Core) expiries(yield func(group string, end time.Time)) {
	if end, ok := c.certificates.First(); ok {
		yield("grpc", end)
	}
	c.routing.mu.Lock()
	end, ok := certs.First(c.routing.current.certificates)
	c.routing.mu.Unlock()
	if ok {
		yield("upstreams", end)
	}
}

// Hash is the hash of the configuration in force: the first digits of its SHA-256, or none
// without a file.
func (r *Routing) Hash() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hash
}

// noHash is the hash of a core without a configuration file.
const noHash = "none"

func hashOf(file string) string {
	if file == "" {
		return noHash
	}
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return noHash
	}
	return hashOfText(text)
}
