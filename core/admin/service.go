// Package admin is the Admin service: what the administrator's commands do, for
// programs. It turns the contract's messages into calls of core/keys, core/audit and
// core/ledger, and back; it decides nothing itself.
//
// Who may call is decided before it, by core/auth. It must not import core, the
// gateway or a store.
package admin

import (
	"context"
	"errors"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"golang.org/x/time/rate"
)

// Config is what a Service is made of. All but Explainer, Topology, Configurator, Recorder,
// Prices, Captures, Trier, Limiter and Clock must be set; methods of what is not set are unimplemented.
type Config struct {
	// Keys makes and changes keys.
	Keys *keys.Service
	// Names has the names of keys; nil knows none.
	Names Namer
	// Audit is the record of that.
	Audit audit.Store
	// Usage reports what requests used. A ledger.Store does.
	Usage Reporter
	// Requests finds entries of the ledger.
	Requests ledger.Searcher
	// Explainer says what translations do. A core/explain.Explainer does.
	Explainer Explainer
	// Topology is what is configured, and how it is.
	Topology Topology
	// Configurator changes that, and Recorder has the audit's entries of it.
	Configurator Configurator
	Recorder     audit.Recorder
	// Prices say how costs were reckoned; nil knows no price.
	Prices Prices
	// Captures are the captured bodies. A vault.Vault has them.
	Captures Captures
	// Trier sends requests to one upstream, which takes Topology and Recorder. A core.Service does.
	Trier Trier
	// Limiter knows the limits of keys and owners; nil has none.
	Limiter *limit.Limiter
	// Clock is time.Now unless set.
	Clock func() time.Time
}

// Explainer says what translations do to bodies. Its errors are *fault.Error values.
type Explainer interface {
	Explain(ctx context.Context, req *adminv1.ExplainRequest) (*adminv1.ExplainResponse, error)
}

// Topology is what is configured in the process that is asked.
type Topology interface {
	// Upstreams are those of the routes, by name.
	Upstreams() []*adminv1.Upstream
	// Routes are in the order in which they are tried.
	Routes() []*adminv1.Route
	// Configuration is the one in force.
	Configuration() *adminv1.GetConfigurationResponse
}

// Reporter sums the ledger up, and knows the processes that write it. Its methods are those of
// ledger.Store.
type Reporter interface {
	Report(ctx context.Context, query ledger.Query) ([]ledger.Row, error)
	Spent(ctx context.Context, since time.Time, keyID, owner string) ([]ledger.Spend, error)
	Processes(ctx context.Context, since time.Time) ([]ledger.Process, error)
}

// Service is the Admin service. Its errors are *fault.Error values.
type Service struct {
	adminv1.UnimplementedAdminServer
	config Config
	tail   tail
	trials *rate.Limiter
}

var _ adminv1.AdminServer = (*Service)(nil)

// New makes the service.
func New(config Config) (*Service, error) {
	if config.Keys == nil || config.Audit == nil || config.Usage == nil || config.Requests == nil {
		return nil, errors.New("admin: keys, audit, usage and requests are all needed")
	}
	if config.Clock == nil {
		config.Clock = time.Now
	}
	s := &Service{config: config, trials: newTrials()}
	s.tail = tail{requests: config.Requests, names: s.names}
	return s, nil
}

// acting returns a context in which changes are made by the caller's key.
func acting(ctx context.Context) context.Context {
	return audit.WithActor(ctx, "key:"+call.Of(ctx).Caller.KeyID)
}
