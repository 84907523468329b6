package coreproc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/metrics"
	"github.com/genway/genway/core/sandbox"
	"github.com/genway/genway/core/store"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// CoreFlags are the core's flags.
type CoreFlags struct {
	Data
	GRPC       string        `name:"grpc" env:"GENWAY_GRPC" default:"127.0.0.1:9090" placeholder:"ADDR" help:"Address of the gRPC side: HOST:PORT or unix:PATH."`
	Grace      time.Duration `env:"GENWAY_GRACE" default:"20s" help:"How long requests in flight may go on after the end was asked for."`
	TextModel  string        `env:"GENWAY_SANDBOX_TEXT_MODEL" default:"sandbox-text" placeholder:"NAME" help:"Name of the sandbox's text model."`
	ImageModel string        `env:"GENWAY_SANDBOX_IMAGE_MODEL" default:"sandbox-image" placeholder:"NAME" help:"Name of the sandbox's image model."`
	Metrics    string        `name:"metrics-listen" env:"GENWAY_METRICS_LISTEN" placeholder:"ADDR" help:"Address of the core's metrics, in Prometheus' format at /metrics: HOST:PORT or unix:PATH. Without it there are none."`
	LedgerSync LedgerSync    `env:"GENWAY_LEDGER_SYNC" enum:"off,batch,each" default:"batch" help:"How durable the ledger is: off (a power cut may undo its last rows), batch (rows are on the disk within a moment) or each (before a request goes on, and before its answer is over)."`
	KeepItems  time.Duration `env:"GENWAY_KEEP_ITEMS" default:"24h" help:"How long items of answers to callers of the responses protocol are kept, encrypted, for later requests to refer to; 0 keeps none."`
	TrustFlags
}

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

// Core is a core that is ready to serve.
type Core struct {
	Keys    *keys.Service
	routing *Routing
	limits  *Limits
	ledger  *ledger.Recorder
	store   *store.Store
	items   *items.Keeper
	service *core.Service
	server  *core.Server
	counts  *metrics.Metrics
	metrics net.Listener // nil for none
	data    Data
	log     *slog.Logger
}

// Open makes a core: its store, its keys, its upstream and its server.
func (f CoreFlags) Open(ctx context.Context, log *slog.Logger) (*Core, error) {
	trust, tlsConfig, err := f.trust()
	if err != nil {
		return nil, err
	}
	embedded, err := sandbox.New(sandbox.Config{TextModel: f.TextModel, ImageModel: f.ImageModel})
	if err != nil {
		return nil, err
	}
	routing, err := NewRouting(f.Config, embedded, log)
	if err != nil {
		return nil, err
	}
	db, keyService, err := f.open(ctx, store.Config{RelaxLedger: f.LedgerSync == LedgerOff})
	if err != nil {
		return nil, errors.Join(err, routing.Close())
	}
	counts := metrics.New()
	recorder, err := ledger.Start(ctx, ledger.Config{Store: db.Ledger(), Wait: f.LedgerSync == LedgerEach, Journal: f.journal(log), Logger: log, OnAside: counts.SetAside})
	if err != nil {
		return nil, errors.Join(err, routing.Close(), db.Close())
	}
	limits, err := openLimits(ctx, routing.section, db.Ledger(), counts.Gone, log)
	if err != nil {
		return nil, errors.Join(err, routing.Close(), recorder.Close(), db.Close())
	}
	routing.follow(limits)
	var kept *items.Keeper
	if f.KeepItems > 0 {
		kept = items.New(items.Config{Store: db.Items(), Keep: f.KeepItems, Logger: log}) //nolint:contextcheck // it outlives ctx, and ends with Close
	}
	service, err := core.New(core.Config{Items: kept, Upstream: routing.Router, Ledger: recorder, Prices: routing.Prices, Limiter: limits.Limiter, Metrics: counts})
	if err != nil {
		kept.Close()
		return nil, errors.Join(err, routing.Close(), limits.Close(), recorder.Close(), db.Close())
	}
	administration, err := admin.New(admin.Config{Keys: keyService, Audit: db.Audit(), Usage: db.Ledger()})
	if err != nil {
		kept.Close()
		return nil, errors.Join(err, routing.Close(), limits.Close(), recorder.Close(), db.Close())
	}
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: keyService, Trust: trust}, Logger: log}
	server := core.NewServer(service, interceptors, core.ServerConfig{TLS: tlsConfig, Grace: f.Grace, Admin: administration})
	c := &Core{Keys: keyService, routing: routing, limits: limits, ledger: recorder, store: db, items: kept, service: service, server: server, log: log, counts: counts, data: f.Data}
	if f.Metrics != "" {
		if c.metrics, err = cli.Listen(ctx, "--metrics-listen", f.Metrics); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Serve answers gRPC calls on the listener, follows the configuration file and prunes the
// ledger as it says, until ctx ends.
func (c *Core) Serve(ctx context.Context, listener net.Listener) error {
	c.advise(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.routing.Watch(ctx) })
	group.Go(func() error {
		ledger.Retain(ctx, c.store.Ledger(), c.routing.retainDays, c.log)
		return nil
	})
	group.Go(func() error { return c.server.Serve(ctx, listener) })
	if c.metrics != nil {
		group.Go(func() error { return c.counts.Serve(ctx, c.metrics) })
	}
	return group.Wait()
}

// Close closes the server, the upstreams, the limits, the ledger and the store.
func (c *Core) Close() error {
	c.server.Close()
	c.items.Close()
	errs := []error{c.routing.Close(), c.limits.Close(), c.ledger.Close(), c.store.Close()}
	if c.metrics != nil {
		if err := c.metrics.Close(); !errors.Is(err, net.ErrClosed) { // as it is once it has served
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Channel gives an edge in the same process its way to the core, which trusts it.
func (c *Core) Channel() grpc.ClientConnInterface {
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: c.Keys, Trust: auth.TrustAll}, Logger: c.log}
	return core.Channel(c.service, interceptors, c.server.Health())
}
